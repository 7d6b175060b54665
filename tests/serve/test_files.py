"""Files over HTTP: conditions and ranges as RFC 9110 says, always the same bytes."""

import contextlib
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.datastructures import Headers

from elasticrec.serve import files
from elasticrec.serve.files import not_modified, read_now, wanted_range
from elasticrec.serve.kept import Kept
from elasticrec.serve.problems import Problem

TAG = '"' + "a" * 64 + '"'
KEPT = Kept("a" * 64 + ".elastic", "a" * 64, 1_000, {})


@pytest.fixture
def bundle(client):
    """A client, where a bundle is, and its bytes."""
    url = client.about("90KB")["url"]
    return client, url, client.get(url).content


def test_a_download_can_be_resumed_anywhere(bundle):
    client, url, content = bundle
    tag = client.get(url, method="HEAD").headers["etag"]
    for cut in (1, 100, len(content) // 2, len(content) - 1):
        rest = client.get(url, {"range": f"bytes={cut}-", "if-range": tag})
        assert rest.status_code == 206
        assert rest.headers["content-range"] == f"bytes {cut}-{len(content) - 1}/{len(content)}"
        assert content[:cut] + rest.content == content


@pytest.mark.parametrize(
    ("asked", "first", "stop"),
    [
        ("0-0", 0, 1),
        ("0-99", 0, 100),
        ("500-", 500, None),
        ("-7", -7, None),
        ("5-99999999", 5, None),
    ],
)
def test_ranges(bundle, asked, first, stop):
    client, url, content = bundle
    answer = client.get(url, {"range": f"bytes={asked}"})
    assert answer.status_code == 206
    assert answer.content == content[first:stop]
    assert answer.headers["content-length"] == str(len(answer.content))
    assert answer.headers["accept-ranges"] == "bytes"


@pytest.mark.parametrize("asked", ["99999999-", "-0", "99999999-999999999"])
def test_ranges_outside_the_file_are_refused(bundle, asked):
    client, url, content = bundle
    answer = client.get(url, {"range": f"bytes={asked}"})
    assert answer.status_code == 416
    assert answer.headers["content-range"] == f"bytes */{len(content)}"
    assert answer.headers["content-type"] == "application/problem+json"


ODD = ["bytes=", "bytes=-", "bytes=a-b", "bytes=9-1", "lines=0-9", "bytes=0-1,5-6", "bytes=--1"]


@pytest.mark.parametrize("header", [*ODD, "bytes=" + "9" * 5_000 + "-", "bytes=0x10-"])
def test_what_is_no_single_range_gets_the_whole_file(bundle, header):
    client, url, content = bundle
    answer = client.get(url, {"range": header})
    assert (answer.status_code, answer.content) == (200, content)


def test_if_range_of_another_file_gets_the_whole_file(bundle):
    client, url, content = bundle
    right = f'"{url.rpartition("/")[2]}"'
    for tag in (TAG, "W/" + right, "Sun, 15 Nov 2026 13:40:59 GMT"):
        answer = client.get(url, {"range": "bytes=5-9", "if-range": tag})
        assert (answer.status_code, answer.content) == (200, content)
    assert client.get(url, {"range": "bytes=5-9", "if-range": right}).status_code == 206


def test_conditions(bundle):
    client, url, _ = bundle
    tag = f'"{url.rpartition("/")[2]}"'
    known = client.get(url, {"if-none-match": tag})
    assert (known.status_code, known.content) == (304, b"")
    assert known.headers["etag"] == tag
    assert known.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert client.get(url, {"if-none-match": f"{TAG}, W/{tag}"}).status_code == 304
    assert client.get(url, {"if-none-match": "*"}).status_code == 304
    assert client.get(url, {"if-none-match": TAG}).status_code == 200
    assert client.get(url, {"if-match": tag}).status_code == 200
    refused = client.get(url, {"if-match": TAG})
    assert refused.status_code == 412
    assert refused.json()["type"] == "urn:elasticrec:problem:precondition-failed"
    assert client.get(url, {"if-match": f"W/{tag}"}).status_code == 412
    assert client.get(url, {"if-none-match": tag, "range": "bytes=0-1"}).status_code == 304


def test_no_handle_is_left_open(bundle):
    client, url, _ = bundle
    before = len(os.listdir("/proc/self/fd"))
    tag = f'"{url.rpartition("/")[2]}"'
    for headers in ({}, {"if-none-match": tag}, {"if-match": TAG}, {"range": "bytes=99999999-"}):
        for method in ("GET", "HEAD"):
            for _ in range(5):
                client.get(url, headers, method=method)
    assert len(os.listdir("/proc/self/fd")) <= before + 1


def test_many_small_reads_give_the_same_bytes(bundle, monkeypatch):
    client, url, content = bundle
    monkeypatch.setattr(files, "CHUNK_BYTES", 1_001)
    assert client.get(url).content == content
    monkeypatch.setattr(files, "read_now", lambda *_: None)  # as if nothing were in memory
    assert client.get(url).content == content
    assert client.get(url, {"range": "bytes=500-70000"}).content == content[500:70_001]


def test_reading_now_reads_right_or_not_at_all(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(range(256)) * 10)
    handle = os.open(path, os.O_RDONLY)
    for at, length in ((0, 10), (100, 500), (2_550, 100)):
        found = read_now(handle, at, length)
        assert found is None or found == path.read_bytes()[at : at + length]
    os.close(handle)


@given(text=st.one_of(st.text(max_size=30), st.from_regex(r"bytes=[0-9]{0,4}-[0-9]{0,4}")))
@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.filter_too_much])
def test_a_range_lies_within_the_file(text):
    try:
        headers = Headers({"range": text.encode("latin-1").decode("latin-1")})
    except UnicodeEncodeError:
        return
    span = None
    with contextlib.suppress(Problem):
        span = wanted_range(headers, KEPT)
    if span is not None:
        assert 0 <= span[0] < span[1] <= KEPT.n_bytes


@given(text=st.text(st.characters(max_codepoint=255), max_size=100))
@settings(deadline=None, max_examples=200)
def test_any_condition_is_understood_or_ignored(text):
    found = not_modified(Headers({"if-none-match": text}), TAG)
    assert found == (text.strip() == "*" or TAG in text)
