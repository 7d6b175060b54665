"""Users' vectors: private, and nothing leaks to those who may not read them."""

import logging
import time
from urllib.parse import quote

import pytest

import elasticrec_device as device
from elasticrec.serve.tokens import Keys

URL = "/v1/models/books/users/{}/vector"


def with_token(token):
    return {"authorization": f"Bearer {token}"}


def test_a_token_opens_its_users_vector(client, keys, tmp_path):
    answer = client.get(URL.format("u3"), with_token(keys.sign("books", "u3", 60)))
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-type"] == "application/vnd.elasticrec.vector"
    assert "etag" not in answer.headers
    about = client.about("60KB")
    assert len(answer.content) == about["vector_bytes"]
    for name, content in (("vector", answer.content), ("b", client.get(about["url"]).content)):
        (tmp_path / name).write_bytes(content)
    with device.open(tmp_path / "b") as bundle:
        listed = bundle.recommend([1], user=tmp_path / "vector", k=5)
        assert len(listed) == 5
        assert listed != bundle.recommend([1], k=5)


def refusals(client, keys, user):
    """What those get who may not read a user's vector, less the request's own id."""
    expired = keys.sign("books", user, 60, now=time.time() - 100)
    sound = keys.sign("books", user, 60)
    flipped = sound[:-2] + ("AA" if sound[-2:] != "AA" else "BB")
    strange = Keys({"new": b"x" * 32}).sign("books", user, 60)
    found = []
    for headers in (
        {},
        {"authorization": "Basic abc"},
        {"authorization": "Bearer"},
        with_token(expired),
        with_token(flipped),
        with_token(strange),
        with_token(keys.sign("books", "someone else", 60)),
        with_token(keys.sign("films", user, 60)),
    ):
        answer = client.get(URL.format(user), headers)
        problem = answer.json()
        problem.pop("request_id")
        kept = {
            name: value for name, value in answer.headers.items() if name not in ("x-request-id",)
        }
        found.append((answer.status_code, problem, kept))
    return found


def test_refusals_do_not_tell_whether_a_user_exists(client, keys):
    known, unknown = refusals(client, keys, "u3"), refusals(client, keys, "nobody")
    assert known == unknown
    assert [status for status, _, _ in known] == [401] * 6 + [403] * 2
    for _, problem, headers in known:
        assert headers["cache-control"] == "no-store"
        assert "u3" not in str(problem)
    assert known[0][2]["www-authenticate"] == 'Bearer realm="elasticrec"'
    assert known[3][2]["www-authenticate"] == 'Bearer realm="elasticrec", error="invalid_token"'


def test_nor_whether_a_model_exists(client):
    known = client.get("/v1/models/books/users/u3/vector")
    unknown = client.get("/v1/models/nothing/users/u3/vector")
    assert known.status_code == unknown.status_code == 401


def test_only_who_may_ask_learns_that_there_is_none(client, keys):
    answer = client.get(URL.format("nobody"), with_token(keys.sign("books", "nobody", 60)))
    assert answer.status_code == 404
    films = "/v1/models/films/users/u3/vector"
    answer = client.get(films, with_token(keys.sign("films", "u3", 60)))
    assert answer.json()["type"] == "urn:elasticrec:problem:no-vector"


def test_an_old_key_still_opens(client, keys):
    old = Keys({"old": keys.secrets["old"]})
    answer = client.get(URL.format("u3"), with_token(old.sign("books", "u3", 60)))
    assert answer.status_code == 200


def test_without_keys_nothing_opens(start, tmp_path, keys):
    (tmp_path / "keys.txt").write_text("# none\n")
    client = start()
    token = keys.sign("books", "u3", 60)
    assert client.get(URL.format("u3"), with_token(token)).status_code == 401


def test_the_vector_of_another_version_is_gone(client, keys):
    headers = with_token(keys.sign("books", "u3", 60))
    now = client.about("60KB")["model_id"]
    assert client.get(URL.format("u3") + f"?model_id={now}", headers).status_code == 200
    answer = client.get(URL.format("u3") + f"?model_id={'0' * 64}", headers)
    assert answer.status_code == 410
    assert now in answer.json()["detail"]


@pytest.mark.parametrize("user", ["a/b", "ä ö", "%", "a\tb", "vector"])
def test_odd_ids_are_ids_like_others(client, keys, user):
    headers = with_token(keys.sign("books", user, 60))
    answer = client.get(URL.format(quote(user, safe="")), headers)
    assert answer.json()["type"] == "urn:elasticrec:problem:no-vector"


def test_neither_users_nor_tokens_nor_vectors_are_logged(client, keys, caplog):
    token = keys.sign("books", "u33", 60)
    with caplog.at_level(logging.DEBUG, logger="elasticrec"):
        answer = client.get(URL.format("u33"), with_token(token))
        client.get(URL.format("u33"), with_token(token[:-3]))
    assert answer.status_code == 200
    lines = [record for record in caplog.records if record.name == "elasticrec.serve.gate"]
    assert [record.status for record in lines] == [200, 401]
    said = "\n".join(str(vars(record)) for record in caplog.records)
    assert "u33" not in said
    assert token[:-3] not in said
    assert answer.content[48:60].hex() not in said
