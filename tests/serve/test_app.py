"""Routes of models: facts, streams of any size, and the files beside them."""

import gzip
import hashlib
import json
import re
from urllib.parse import urljoin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elasticrec.serve.app import CACHED
from elasticrec.stream.chunk import read_index
from elasticrec.stream.side_files import WithdrawnList

STREAM = "/models/books/stream.elastic"


@pytest.fixture(scope="module")
def whole(made_models):
    return (made_models / "books" / "stream.elastic").read_bytes()


@pytest.fixture(scope="module")
def index(made_models):
    return read_index(made_models / "books" / "stream.elastic")


def test_the_list_links_to_what_each_model_has(client, made_models):
    answer = client.get("/models")
    assert answer.headers["cache-control"] == CACHED
    listed = answer.json()
    assert listed["format"] == "elasticrec models 1"
    assert [each["name"] for each in listed["models"]] == ["books", "films"]
    for each in listed["models"]:
        assert each["files"].keys() == {"stream", "curve", "catalogue"}
        for part, link in each["files"].items():
            found = client.get(urljoin("/models", link))
            folder = made_models / each["name"]
            suffix = {"stream": "stream.elastic"}.get(part, f"{part}.json")
            assert found.content == (folder / suffix).read_bytes()


def test_the_facts_are_those_of_the_stream(client, whole, index):
    facts = client.get("/models/books").json()
    etag = client.get(STREAM, method="HEAD").headers["etag"]
    assert facts == {
        "name": "books",
        "model_id": index.head.model_id.hex(),
        "items": 3_000,
        "numbers": 16,
        "id_kind": "dense",
        "score": "cosine",
        "person": "history",
        "support": 5,
        "trained": "2026-01-02T03:04:05+00:00",
        "sequence": 1,
        "signed": False,
        "least_bytes": index.head.least,
        "bytes": len(whole),
        "sha256": hashlib.sha256(whole).hexdigest(),
        "popular": [
            {"number": n, "id": f"i{n}", "title": f"Book {n} – ein Buch"} for n in range(12)
        ],
        "files": {
            "stream": "books/stream.elastic",
            "curve": "books/curve.json",
            "catalogue": "books/catalogue.json",
        },
        "etag": etag,
    }


def test_a_whole_stream(client, whole):
    answer = client.get(STREAM)
    assert answer.content == whole
    assert answer.headers["content-type"] == "application/vnd.elasticrec.stream"
    assert answer.headers["content-disposition"] == 'attachment; filename="books.elastic"'
    assert answer.headers["cache-control"] == CACHED
    assert answer.headers["accept-ranges"] == "bytes"
    assert re.fullmatch(r'"[0-9a-f]{64}-\d+"', answer.headers["etag"])


@pytest.mark.parametrize("budget", ["5KB", "7 KB", "5120", "5KiB", "0.01MB", "1GB"])
def test_a_budget_gets_the_longest_run_of_whole_chunks(client, whole, index, budget):
    n_bytes = {"5KB": 5_000, "7 KB": 7_000, "5120": 5_120, "5KiB": 5_120, "0.01MB": 10_000}
    expected = index.longest_prefix(n_bytes.get(budget, 10**9))
    answer = client.get(f"{STREAM}?budget={budget}")
    assert answer.status_code == 200
    assert answer.content == whole[:expected]
    assert int(answer.headers["content-length"]) == expected


def test_each_size_has_its_own_etag_and_name(client, whole):
    sizes = [client.get(f"{STREAM}?budget={size}") for size in ("5KB", "5001", "12KB", "9GB")]
    tags = [answer.headers["etag"] for answer in sizes]
    assert tags[0] == tags[1]
    assert len(set(tags)) == 3
    assert tags[3] == client.get(STREAM).headers["etag"]
    assert sizes[0].headers["content-disposition"] == 'attachment; filename="books-5000.elastic"'


def test_too_small_a_budget_names_the_smallest(client, index):
    answer = client.get(f"{STREAM}?budget=99")
    assert answer.status_code == 404
    assert answer.json()["type"] == "urn:elasticrec:problem:budget-too-small"
    least = answer.json()["smallest_budget"]
    assert least == index.head.least
    assert client.get(f"{STREAM}?budget={least}").status_code == 200
    assert client.get(f"{STREAM}?budget={least - 1}").status_code == 404


@pytest.mark.parametrize("budget", ["", "5XB", "-1", "1e3", "5MB%00", "٣", "9" * 40])
def test_an_odd_budget_is_malformed(client, budget):
    answer = client.get(f"{STREAM}?budget={budget}")
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith("budget: ")


def test_resuming_and_growing_give_the_same_bytes(client, whole):
    first = client.get(f"{STREAM}?budget=5KB")
    part = first.content[:1000]
    headers = {"range": f"bytes={len(part)}-", "if-range": first.headers["etag"]}
    rest = client.get(f"{STREAM}?budget=5KB", headers)
    assert rest.status_code == 206
    assert part + rest.content == first.content
    headers["range"] = f"bytes={len(first.content)}-"
    more = client.get(f"{STREAM}?budget=12KB", headers)  # a longer prefix of the same stream
    assert more.status_code == 206
    assert whole.startswith(first.content + more.content)
    assert more.headers["content-range"].startswith(f"bytes {len(first.content)}-")
    headers["range"] = f"bytes={len(first.content) + len(more.content)}-"
    assert client.get(STREAM, headers).content == whole[-int(
        client.get(STREAM, headers).headers["content-length"]):]  # fmt: skip


@pytest.mark.parametrize("tag", ['"other-5000"', 'W/"{}"', '"x"', "yesterday"])
def test_if_range_of_something_else_gets_the_whole(client, whole, tag):
    tag = tag.format(client.get(STREAM).headers["etag"].strip('"'))
    answer = client.get(STREAM, {"range": "bytes=5-", "if-range": tag})
    assert (answer.status_code, answer.content) == (200, whole)


@given(st.integers(0, 30_000), st.integers(0, 30_000))
def test_any_range_is_a_slice_of_the_stream(shared, whole, start, stop):
    answer = shared.get(STREAM, {"range": f"bytes={start}-{stop}"})
    if stop < start:
        assert answer.status_code == 200
    elif start >= len(whole):
        assert answer.status_code == 416
        assert answer.headers["content-range"] == f"bytes */{len(whole)}"
    else:
        assert answer.status_code == 206
        assert answer.content == whole[start : stop + 1]
        last = min(stop, len(whole) - 1)
        assert answer.headers["content-range"] == f"bytes {start}-{last}/{len(whole)}"


@pytest.fixture(scope="module")
def shared(made_models):
    from elasticrec.serve.middleware import ServeConfig
    from tests.serve.client import Running

    with Running(ServeConfig((made_models,))) as running:
        yield running


def test_odd_ranges(client, whole):
    for odd in ("bytes=a-b", "bytes=-", "items=0-5", "bytes=0-1,4-5", "bytes=9-3"):
        assert client.get(STREAM, {"range": odd}).content == whole
    assert client.get(STREAM, {"range": "bytes=-7"}).content == whole[-7:]
    assert client.get(STREAM, {"range": "bytes=-99999999"}).content == whole
    assert client.get(STREAM, {"range": "bytes=-0"}).status_code == 416


def test_conditions(client):
    tag = client.get(STREAM).headers["etag"]
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        answer = client.get(STREAM, {"if-none-match": known})
        assert (answer.status_code, answer.content) == (304, b"")
        assert answer.headers["etag"] == tag
        assert "content-disposition" not in answer.headers
    assert client.get(f"{STREAM}?budget=5KB", {"if-none-match": tag}).status_code == 200
    assert client.get(STREAM, {"if-match": '"other"'}).status_code == 412
    assert client.get(STREAM, {"if-match": f"W/{tag}"}).status_code == 412
    assert client.get(STREAM, {"if-match": tag, "range": "bytes=0-0"}).status_code == 206


@pytest.mark.parametrize("path", ["/models", "/models/books", STREAM, f"{STREAM}?budget=5KB",
                                  "/models/books/curve.json", "/", "/metrics"])  # fmt: skip
def test_head_is_get_without_a_body(client, path):
    got, head = client.get(path), client.get(path, method="HEAD")
    assert head.status_code == got.status_code
    assert head.content == b""
    names = ("content-length", "content-type", "etag", "cache-control", "content-disposition")
    if path != "/metrics":
        assert [head.headers.get(n) for n in names] == [got.headers.get(n) for n in names]


def test_head_makes_nothing(client, monkeypatch):
    monkeypatch.setattr("json.dumps", None)
    monkeypatch.setattr(client.app.state.models, "measure", None)
    monkeypatch.setattr(client.app.state.metrics, "text", None)
    for path in ("/models", "/models/books", "/metrics"):
        assert client.get(path, method="HEAD").status_code == 200


def test_head_reads_nothing_of_the_file(client, monkeypatch):
    served = client.app.state.models.served["books"]
    monkeypatch.setattr(served.stream, "read_now", None)
    monkeypatch.setattr(served.stream, "read", None)
    assert client.get(STREAM, method="HEAD").status_code == 200


def test_the_catalogue_is_sent_packed_to_who_can_unpack_it(client, made_models):
    path, plain = "/models/books/catalogue.json", {"accept-encoding": "identity"}
    content = (made_models / "books" / "catalogue.json").read_bytes()
    whole, packed = client.get(path, plain), client.get(path, {"accept-encoding": "br, gzip"})
    assert whole.content == packed.content == content
    assert "content-encoding" not in whole.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < len(content) / 2
    assert whole.headers["vary"] == packed.headers["vary"] == "Accept-Encoding"
    assert whole.headers["etag"] != packed.headers["etag"]
    assert len(gzip.compress(content)) > 0
    known = {"if-none-match": packed.headers["etag"], "accept-encoding": "gzip"}
    assert client.get(path, known).status_code == 304


def test_the_curve_is_the_measured_one(client, made_models):
    answer = client.get("/models/books/curve.json")
    assert answer.json() == json.loads((made_models / "books" / "curve.json").read_text())


def test_the_withdrawn_list_where_there_is_one(start, models):
    client = start(models=(models,))
    path = "/models/books/withdrawn.list"
    answer = client.get(path)
    assert answer.json()["type"] == "urn:elasticrec:problem:no-file"
    model_id = client.get("/models/books").json()["model_id"]
    content = WithdrawnList(model_id, [3, 5]).pack()
    (models / "books" / "withdrawn.list").write_bytes(content)
    client.until(lambda: client.get(path).status_code == 200)
    assert client.get(path).content == content
    assert client.get("/models/books").json()["files"]["withdrawn"] == "books/withdrawn.list"


def test_pages_of_other_sites_may_read_streams(client):
    headers = client.get(STREAM, {"origin": "https://shop.example"}).headers
    assert headers["access-control-allow-origin"] == "*"
    assert "ETag" in headers["access-control-expose-headers"]
    asked = {"origin": "https://shop.example", "access-control-request-method": "GET"}
    preflight = client.get(STREAM, asked, method="OPTIONS")
    assert preflight.status_code == 204
    assert "If-Range" in preflight.headers["access-control-allow-headers"]
    refused = client.get("/models/books/vector", asked, method="OPTIONS")
    assert refused.status_code == 405
    assert "access-control-allow-origin" not in client.get("/models/books/vector").headers


def test_the_openapi_document_names_every_route(client):
    named = client.get("/openapi.json").json()["paths"].keys()
    routes = {route.path for route in client.app.routes} - {"/", "/{file}", "/openapi.json"}
    files = {f"/models/{{name}}/{name}" for name in
             ("curve.json", "catalogue.json", "withdrawn.list")}  # fmt: skip
    assert named == routes - {"/models/{name}/{file}"} | files
