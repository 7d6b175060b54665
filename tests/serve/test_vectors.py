"""Users' vectors: private, and nothing leaks to those who may not read them."""

import logging
import shutil
import struct
import time

import numpy as np
import pytest

from elasticrec.model import Model
from elasticrec.serve.tokens import Keys
from tests.serve.making import servable

URL = "/models/films/vector"


def with_token(token):
    return {"authorization": f"Bearer {token}"}


def test_a_token_opens_its_users_vector(client, keys, made_models):
    answer = client.get(URL, with_token(keys.sign("films", "u3", 60)))
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-type"] == "application/vnd.elasticrec.vector"
    assert "etag" not in answer.headers
    magic, version, d, _ = struct.unpack_from("<8sHHI", answer.content)
    assert (magic, version, d, len(answer.content)) == (b"\x89ELVECTO", 2, 16, 48 + 32)
    model = Model.open(made_models / "films")
    assert answer.content[16:48].hex() == model.id
    found = np.frombuffer(answer.content, dtype="<f2", offset=48).astype(np.float64)
    expected = model.server_vectors()[3]
    np.testing.assert_allclose(found, expected / np.linalg.norm(expected), atol=1e-3)


def refusals(client, keys, name):
    """What those get who may not read a vector of a model, less the request's own id."""
    sound = keys.sign(name, "u3", 60)
    flipped = sound[:-2] + ("AA" if sound[-2:] != "AA" else "BB")
    found = []
    for headers in (
        {},
        {"authorization": "Basic abc"},
        {"authorization": "Bearer"},
        with_token(keys.sign(name, "u3", 60, now=time.time() - 100)),
        with_token(flipped),
        with_token(Keys({"new": b"x" * 32}).sign(name, "u3", 60)),
        with_token(keys.sign("another", "u3", 60)),
    ):
        answer = client.get(f"/models/{name}/vector", headers)
        problem = answer.json()
        problem.pop("request_id")
        kept = {name: value for name, value in answer.headers.items() if name != "x-request-id"}
        found.append((answer.status_code, problem, kept))
    return found


def test_refusals_do_not_tell_whether_a_model_exists(client, keys):
    known, unknown = refusals(client, keys, "films"), refusals(client, keys, "nothing")
    assert known == unknown
    assert [status for status, _, _ in known] == [401] * 6 + [403]
    for _, _, headers in known:
        assert headers["cache-control"] == "no-store"
    assert known[0][2]["www-authenticate"] == 'Bearer realm="elasticrec"'
    assert known[3][2]["www-authenticate"] == 'Bearer realm="elasticrec", error="invalid_token"'


@pytest.mark.parametrize("user", ["nobody", "u1", "a/b", "ä ö", "%", "a\tb", "3"])
def test_only_who_may_ask_learns_that_there_is_none(client, keys, user):
    answer = client.get(URL, with_token(keys.sign("films", user, 60)))  # u1's vector is 0
    assert answer.status_code == 404
    assert answer.json()["type"] == "urn:elasticrec:problem:no-vector"


def test_a_model_of_histories_has_none(client, keys):
    answer = client.get("/models/books/vector", with_token(keys.sign("books", "u3", 60)))
    assert answer.json()["type"] == "urn:elasticrec:problem:no-vector"


def test_an_old_key_still_opens(client, keys):
    old = Keys({"old": keys.secrets["old"]})
    assert client.get(URL, with_token(old.sign("films", "u3", 60))).status_code == 200


def test_without_keys_nothing_opens(start, tmp_path, keys):
    (tmp_path / "keys.txt").write_text("# none\n")
    assert start().get(URL, with_token(keys.sign("films", "u3", 60))).status_code == 401


def test_head_gets_no_vector(client, keys):
    answer = client.get(URL, with_token(keys.sign("films", "u3", 60)), method="HEAD")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET")


def test_a_new_version_brings_its_own_vectors(start, models, keys):
    client, headers = start(models=(models,)), with_token(keys.sign("films", "u3", 60))
    before = client.get(URL, headers).content
    shutil.rmtree(models / "films")
    servable(models / "films", seed=7, history=False, n_items=400)
    client.until(lambda: client.get(URL, headers).content[:48] != before[:48])
    assert client.get(URL, headers).content[16:48].hex() == Model.open(models / "films").id


@pytest.mark.parametrize("part", ["table.safetensors", "split.npz", "codes.npz"])
def test_damaged_vectors_are_a_refusal_and_stop_nothing_else(start, models, keys, caplog, part):
    client, headers = start(models=(models,)), with_token(keys.sign("films", "u3", 60))
    content = bytearray((models / "films" / part).read_bytes())
    content[len(content) // 2] ^= 1
    (models / "films" / part).write_bytes(content)
    answer = client.get(URL, headers)
    assert (answer.status_code, answer.json()["title"]) == (503, "The model is not ready")
    (line,) = [each for each in caplog.records if each.getMessage() == "vectors not loaded"]
    assert f"{part}: is damaged or was swapped" in line.reason
    assert client.get("/models/films/stream.elastic").status_code == 200


def test_neither_users_nor_tokens_nor_vectors_are_logged(client, keys, caplog):
    token = keys.sign("films", "u33", 60)
    with caplog.at_level(logging.DEBUG, logger="elasticrec"):
        answer = client.get(URL, with_token(token))
        client.get(URL, with_token(token[:-3]))
    assert answer.status_code == 200
    lines = [record for record in caplog.records if record.name == "elasticrec.serve.middleware"]
    assert [record.status for record in lines] == [200, 401]
    said = "\n".join(str(vars(record)) for record in caplog.records)
    assert "u33" not in said
    assert token[:-3] not in said
