"""What is too much, malformed or hostile is refused, and always by a problem document."""

import asyncio

import pytest

PATHS = [
    "/v1/bundles/../../../etc/passwd",
    "/v1/bundles/..%2f..%2f..%2fetc%2fpasswd",
    "/v1/bundles/%2e%2e%2fkeys.txt",
    "/v1/bundles/" + "A" * 64,
    "/v1/bundles/" + "a" * 63,
    "/v1/bundles/" + "a" * 64 + "%00",
    "/v1/bundles/" + "a" * 64 + ".json",
    "/v1/catalogues/" + "a" * 64 + "/..",
    "/v1/models/..%2f..%2fmodels/curve",
    "/v1/models/b%0d%0aSet-Cookie:%20x=1/curve",
    "/v1/models/b\u00f6\u00f6ks/curve",
    "/v1/models//curve",
    "/v1/models/books/bundles?budget=5MB%0d%0aLocation:%20http://evil",
    "/v1/models/books/bundles?budget=5MB%00",
    "//etc/passwd",
    "/v1/../shelf/keys.txt",
    "/.git/config",
    "/v1/models/books/bundles?budget=" + "9" * 500,
]


def is_problem(answer, *statuses):
    assert answer.status_code in statuses, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["cache-control"] == "no-store"
    problem = answer.json()
    assert problem["status"] == answer.status_code
    assert problem["type"].startswith("urn:elasticrec:problem:")
    assert problem["title"]
    assert problem["detail"]
    assert problem["request_id"] == answer.headers["x-request-id"]
    assert "set-cookie" not in answer.headers
    assert "location" not in answer.headers
    return True


@pytest.mark.parametrize("path", PATHS)
def test_hostile_paths(client, path):
    assert is_problem(client.get(path), 400, 404)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"])
def test_only_reading(client, method):
    for path in ("/v1/models", "/v1/bundles/" + "a" * 64, "/metrics"):
        answer = client.get(path, method=method)
        assert is_problem(answer, 405)
        assert answer.headers["allow"] == "GET, HEAD"


def test_long_urls(client):
    assert is_problem(client.get("/v1/models?" + "x" * 3_000), 414)
    assert is_problem(client.get("/v1/models/" + "x" * 3_000), 414)


@pytest.mark.parametrize(
    "headers", [{"content-length": "5"}, {"transfer-encoding": "chunked"}, {"content-length": "x"}]
)
def test_bodies(client, headers):
    answer = client.get("/v1/models", headers)
    assert is_problem(answer, 413)
    assert answer.headers["connection"] == "close"


def test_request_ids_are_taken_up_where_they_are_plain(client):
    assert client.get("/healthz", {"x-request-id": "abc-1.2_3"}).headers["x-request-id"] == (
        "abc-1.2_3"
    )
    for odd in ("a b", "x" * 65, "é", 'a"b', ""):
        given = client.get("/healthz", {"x-request-id": odd.encode("latin-1")})
        assert len(given.headers["x-request-id"]) == 16


def test_too_many_requests_at_once(start):
    client = start(requests=3, retry_seconds=2)
    client.service.shelf.curve = slow_curve = SlowCurve()
    *answers, health = client.get_many([*["/v1/models/books/curve"] * 10, "/healthz"])
    slow_curve.free.set()
    assert health.status_code == 200  # or a busy service would be taken for a dead one
    assert sorted(answer.status_code for answer in answers) == [200] * 3 + [503] * 7
    refused = next(answer for answer in answers if answer.status_code == 503)
    assert is_problem(refused, 503)
    assert refused.headers["retry-after"] == "2"
    assert client.get("/v1/models").status_code == 200


class SlowCurve:
    """Takes as long as it takes until the others were refused."""

    def __init__(self):
        import threading

        self.free = threading.Event()

    def __call__(self, model):
        self.free.wait(0.5)
        return []


def test_who_takes_nothing_of_a_download_is_cut_off(start):
    client = start(stall_seconds=0.05)
    url = client.about("90KB")["url"]
    sent = []

    async def send(message):
        sent.append(message)
        if message["type"] == "http.response.body":
            await asyncio.sleep(10)

    async def download():
        scope = {"type": "http", "method": "GET", "path": url, "query_string": b"", "headers": []}
        await client.app(scope | {"raw_path": url.encode()}, None, send)

    with pytest.raises(TimeoutError):
        client.run(download())
    assert client.service.metrics.in_flight.values == {(): [0]}
    assert len(sent) == 2
