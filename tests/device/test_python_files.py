"""The files that the Python runtime reads, refuses, replaces and lets go."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

import elasticrec_device
from elasticrec.bundle.patch import make_patch
from elasticrec.stream.person import vector_bytes
from elasticrec_device import BundleError
from tests.device.packing import packed


@pytest.fixture
def bundle():
    with elasticrec_device.open(packed()[0]) as opened:
        yield opened


def test_a_servers_vector_comes_as_a_file_or_as_its_bytes(tmp_path, bundle):
    model_id = packed()[1]
    raw = vector_bytes(np.linspace(-1, 1, 16, dtype=np.float32), model_id)
    (tmp_path / "me.vector").write_bytes(raw)
    found = bundle.recommend([1], raw)
    assert found == bundle.recommend([1], tmp_path / "me.vector")
    assert found == bundle.recommend([1], str(tmp_path / "me.vector"))
    assert found != bundle.recommend([1])


def test_another_models_vector_is_refused_by_name(bundle):
    foreign = "ab" * 32
    raw = vector_bytes(np.zeros(16, dtype=np.float32), foreign)
    with pytest.raises(BundleError, match=f"model of the person's vector: found {foreign}"):
        bundle.recommend(user=raw)
    wide = vector_bytes(np.zeros(24, dtype=np.float32), packed()[1])
    with pytest.raises(BundleError, match="length of the person's vector: found 96, expected 80"):
        bundle.recommend(user=wide)


def test_a_catalogue_gives_titles_and_another_is_refused(tmp_path):
    titles = [f"Title {i}" if i % 3 else None for i in range(100)]
    text = json.dumps({"ids": [str(i) for i in range(100)], "titles": titles}).encode()
    (tmp_path / "titles.json").write_bytes(text)
    (tmp_path / "other.json").write_bytes(text + b" ")
    with elasticrec_device.open(
        packed(catalogue_sha256=hashlib.sha256(text).digest())[0]
    ) as bundle:
        assert {item.title for item in bundle.recommend(k=50)} == {None}
        with pytest.raises(BundleError, match="SHA-256 of the catalogue"):
            bundle.catalogue(tmp_path / "other.json")
        bundle.catalogue(tmp_path / "titles.json")
        assert all(item.title == titles[item.id] for item in bundle.recommend(k=50))
        assert bundle.info()["catalogue_sha256"] == hashlib.sha256(text).hexdigest()


def test_a_bundle_without_a_catalogue_refuses_all(tmp_path, bundle):
    (tmp_path / "titles.json").write_text("{}")
    with pytest.raises(BundleError, match="expected None"):
        bundle.catalogue(tmp_path / "titles.json")
    assert bundle.info()["catalogue_sha256"] is None


def test_the_whole_file_is_checked_where_a_hash_is_given(tmp_path):
    data = packed()[0]
    (tmp_path / "a.elastic").write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    elasticrec_device.open(tmp_path / "a.elastic", sha256=digest.upper()).close()
    with pytest.raises(BundleError, match=f"SHA-256 of the file: found {digest}"):
        elasticrec_device.open(tmp_path / "a.elastic", sha256="00" * 32)


def test_a_closed_bundle_answers_nothing(tmp_path):
    with elasticrec_device.open(packed()[0]) as bundle:
        pass
    with pytest.raises(AttributeError, match="closed"):
        bundle.recommend()
    bundle.close()


def test_a_file_may_be_replaced_by_renaming_while_it_is_open(tmp_path):
    path = tmp_path / "a.elastic"
    path.write_bytes(packed()[0])
    with elasticrec_device.open(path) as bundle:
        before = bundle.recommend([1])
        (tmp_path / "b.elastic").write_bytes(packed(seed=9)[0])
        (tmp_path / "b.elastic").replace(path)
        assert bundle.recommend([1]) == before
    assert elasticrec_device.open(path).recommend([1]) != before


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        elasticrec_device.open(tmp_path / "none.elastic")


def test_an_upgrade_may_replace_the_old_file_itself(tmp_path: Path):
    old, new = packed()[0], packed(withdrawn=[5])[0]
    path = tmp_path / "a.elastic"
    path.write_bytes(old)
    elasticrec_device.apply_patch(path, make_patch(old, new), path)
    assert path.read_bytes() == new
    with pytest.raises(BundleError, match="old file"):
        elasticrec_device.apply_patch(path, make_patch(old, new), path)
    assert path.read_bytes() == new
    assert list(tmp_path.iterdir()) == [path]
