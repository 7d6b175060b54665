"""`catalogue`, `vector`, `withdraw` and `keys`: what devices are given beside a stream."""

import hashlib
import json
import stat
import sys

import numpy as np
import pytest

from elasticrec.stream.chunk import read_index
from elasticrec.stream.side_files import WithdrawnList
from tests.cli.running import refused, run
from tests.serve.making import servable
from tests.stream.reference_file import verified


def test_the_catalogue_is_the_one_that_the_stream_names(tiny_model, tmp_path):
    out = tmp_path / "catalogue.json"
    assert "200 items" in run("catalogue", tiny_model.root, "-o", out)
    content = out.read_bytes()
    assert json.loads(content)["model_id"] == tiny_model.id
    assert hashlib.sha256(content).digest() == read_index(tiny_model.stream_path).head.catalogue


def test_a_damaged_catalogue_is_not_handed_on(tiny_copy, tmp_path):
    with (tiny_copy / "catalogue.json").open("ab") as file:
        file.write(b" ")
    out = tmp_path / "catalogue.json"
    assert "catalogue.json: is damaged or was swapped" in refused("catalogue", tiny_copy, "-o", out)
    assert not out.exists()


def test_a_vector_ranks_on_a_device_as_the_server_ranks(tiny_vectors, tmp_path):
    device = pytest.importorskip("elasticrec_device")
    out = tmp_path / "14.vector"
    assert "80 bytes" not in run("vector", tiny_vectors.root, "--user", 14, "-o", out)
    users, items = tiny_vectors.table.users, tiny_vectors.table.items
    best = set(np.argsort(-(items @ users[2]))[:20].tolist())
    with device.open(tiny_vectors.stream_path) as stream:
        found = {item.id for item in stream.recommend(vector=out, k=20)}
    assert len(found & best) >= 15


def test_vectors_are_for_users_of_models_that_have_them(tiny_model, tiny_vectors, tmp_path):
    out = tmp_path / "v"
    line = refused("vector", tiny_model.root, "--user", 14, "-o", out)
    assert "base history has no user vectors, a device needs only a history" in line
    line = refused("vector", tiny_vectors.root, "--user", "eve", "-o", out)
    assert "no user 'eve' in the data" in line
    assert not list(tmp_path.iterdir())


def test_a_user_of_whom_nothing_was_learned_has_no_vector(tmp_path):
    servable(tmp_path / "films", history=False, n_items=300)
    line = refused("vector", tmp_path / "films", "--user", "u1", "-o", tmp_path / "v")
    assert "nothing was learned of user 'u1': the vector is 0" in line
    assert not (tmp_path / "v").exists()


@pytest.fixture
def key(tmp_path):
    pytest.importorskip("cryptography")
    run("keys", "new", "-o", tmp_path / "publisher.key")
    return tmp_path / "publisher.key"


def public(key):
    return bytes.fromhex(key.with_name(f"{key.name}.pub").read_text())


def test_keys_are_a_private_and_a_public_file(key):
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert len(public(key)) == 32
    before = key.read_bytes()
    assert "is there already" in refused("keys", "new", "-o", key)
    assert "there is no folder" in refused("keys", "new", "-o", key.parent / "no" / "a.key")
    assert key.read_bytes() == before


def test_withdrawn_items_are_never_listed(tiny_model, key, tmp_path):
    device = pytest.importorskip("elasticrec_device")
    items, out = tmp_path / "recalled.txt", tmp_path / "withdrawn.elastic"
    ids = tiny_model.split.item_ids.values
    gone = sorted([3, 70, 14])
    items.write_text("".join(f"{ids[n]}\n" for n in (70, 3, 14, 3)) + "\nnever-heard-of\n")
    asked = ("withdraw", tiny_model.root, items, "-o", out, "--sequence", 3, "--sign", key)
    assert "3 items withdrawn" in run(*asked)
    written = out.read_bytes()
    found = WithdrawnList.unpack(written)
    unsigned = written[:12] + bytes(4) + written[16:56] + bytes(64) + written[120:]
    verified(unsigned, written[56:120], public(key), "the list")
    assert (found.numbers.tolist(), found.sequence, found.model_id) == (gone, 3, tiny_model.id)
    with device.open(tiny_model.stream_path) as stream:
        stream.withdraw(out)
        assert not set(gone) & {item.id for item in stream.recommend([5], k=200)}


def test_a_list_may_be_empty_but_not_of_something_else(tiny_model, tmp_path):
    items, out = tmp_path / "recalled.txt", tmp_path / "withdrawn.elastic"
    items.write_text("")
    assert "0 items withdrawn" in run("withdraw", tiny_model.root, items, "-o", out)
    out.unlink()
    items.write_text("x\ny\n")
    line = refused("withdraw", tiny_model.root, items, "-o", out)
    assert "none of the items given is known; ids look like" in line
    assert "No such file" in refused("withdraw", tiny_model.root, tmp_path / "no.txt", "-o", out)
    items.write_text(str(tiny_model.split.item_ids.values[0]))
    line = refused("withdraw", tiny_model.root, items, "-o", out, "--sign", items)
    assert "is no unencrypted PEM file, expected a private key" in line
    assert not out.exists()


def test_without_cryptography_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives", None)
    line = refused("keys", "new", "-o", tmp_path / "publisher.key")
    assert line.endswith("pip install 'elasticrec[sign]'")
