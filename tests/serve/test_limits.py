"""Requests beyond the limits, malformed or hostile ones: refused, always by a problem document."""

import pytest

STREAM = "/models/books/stream.elastic"
PATHS = [
    "/models/../../../etc/passwd",
    "/models/..%2f..%2f..%2fetc%2fpasswd",
    "/models/%2e%2e/stream.elastic",
    "/models/books/..%2ffilms%2fstream.elastic",
    "/models/books/stream.elastic%00",
    "/models/books/stream.elastic/",
    "/models/books/table.safetensors",
    "/models/books/model.json",
    "/models/books/catalogue.json.gz",
    "/models/b%0d%0aSet-Cookie:%20x=1/curve.json",
    "/models/b\u00f6\u00f6ks/curve.json",
    "/models//curve.json",
    "/models/",
    "/models/books/",
    f"{STREAM}?budget=5MB%0d%0aLocation:%20http://evil",
    "//etc/passwd",
    "//evil.example/%2e%2e",
    "/index.html",
    "/__init__.py",
    "/.git/config",
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
    assert is_problem(client.get(path, {"host": "evil.example"}), 400, 404)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"])
def test_only_reading(client, method):
    for path in ("/models", STREAM, "/metrics", "/"):
        answer = client.get(path, method=method)
        assert is_problem(answer, 405)
        assert answer.headers["allow"] == "GET, HEAD"


def test_long_urls_and_headers(client):
    assert is_problem(client.get("/models?" + "x" * 3_000), 414)
    assert is_problem(client.get("/models/" + "x" * 3_000), 414)
    assert is_problem(client.get("/models", {"x": "y" * 16_300}), 431)
    assert client.get("/models", {"x": "y" * 15_000}).status_code == 200


@pytest.mark.parametrize(
    "headers", [{"content-length": "5"}, {"transfer-encoding": "chunked"}, {"content-length": "x"}]
)
def test_bodies(client, headers):
    answer = client.get("/models", headers)
    assert is_problem(answer, 413)
    assert answer.headers["connection"] == "close"


def test_request_ids_are_taken_up_where_they_are_plain(client):
    given = client.get("/healthz", {"x-request-id": "abc-1.2_3"}).headers["x-request-id"]
    assert given == "abc-1.2_3"
    for odd in ("a b", "x" * 65, "é", 'a"b', ""):
        given = client.get("/healthz", {"x-request-id": odd.encode("latin-1")})
        assert len(given.headers["x-request-id"]) == 16


def test_too_many_requests_at_once(start, monkeypatch):
    client = start(requests=3)
    served = client.app.state.models.served["books"].stream
    monkeypatch.setattr(served, "read_now", lambda at, length: None)  # as if it were on a disk
    *answers, health = client.get_many([*[STREAM] * 10, "/healthz"])
    assert health.status_code == 200  # or a busy service would be taken for a dead one
    assert sorted(answer.status_code for answer in answers) == [200] * 3 + [503] * 7
    refused = next(answer for answer in answers if answer.status_code == 503)
    assert is_problem(refused, 503)
    assert refused.headers["retry-after"] == "1"
    assert client.get("/models").status_code == 200


def test_a_mistake_is_a_problem_and_logged_with_its_request(client, monkeypatch, caplog):
    monkeypatch.setattr(client.app.state.models, "get", None)
    answer = client.get(STREAM)
    assert is_problem(answer, 500)
    (line,) = [record for record in caplog.records if record.getMessage() == "mistake"]
    assert line.request_id == answer.headers["x-request-id"]
    assert line.exc_info
