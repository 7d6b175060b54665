"""A block table: views, identity, saving, renumbering, and folding a person in."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.data.interactions import Pairs
from elasticrec.errors import InputError
from elasticrec.training.table import BlockTable


def draw(seed=0, n_users=4, n_items=6, n_blocks=3, block_size=2, **more):
    rng = np.random.default_rng(seed)
    blocks = rng.normal(size=(n_items, n_blocks, block_size)).astype(np.float32)
    users = rng.normal(size=(n_users, n_blocks * block_size)).astype(np.float32)
    return BlockTable(blocks, users, "mf", **more)


def test_sizes_and_views():
    table = draw()
    assert (table.n_items, table.n_blocks, table.block_size, table.dimensions) == (6, 3, 2, 6)
    assert np.shares_memory(table.items, table.blocks)
    np.testing.assert_array_equal(table.items[1], table.blocks[1].ravel())


@pytest.mark.parametrize("score", ["aligned", "tiled"])
@pytest.mark.parametrize("with_users", [True, False])
def test_saved_and_loaded_it_is_the_same(tmp_path, score, with_users):
    table = draw(score=score, cosine=True, popularity_exponent=0.06)
    if not with_users:
        table = replace(table, users=None, base="history")
    table.save(tmp_path / "blocks.safetensors")
    loaded = BlockTable.load(tmp_path / "blocks.safetensors")
    assert loaded.facts() == table.facts()
    assert loaded.arrays().keys() == table.arrays().keys()
    for name, array in table.arrays().items():
        np.testing.assert_array_equal(loaded.arrays()[name], array)
    assert loaded.fingerprint() == table.fingerprint()
    assert [file.name for file in tmp_path.iterdir()] == ["blocks.safetensors"]


def test_any_change_changes_the_fingerprint():
    table = draw()
    blocks = table.blocks.copy()
    blocks[2, 1, 0] = np.nextafter(blocks[2, 1, 0], np.float32(9))
    others = [
        replace(table, blocks=blocks),
        replace(table, users=table.users + 1),
        replace(table, users=None),
        replace(table, base="lightgcn"),
        replace(table, score="tiled"),
        replace(table, cosine=True),
        replace(table, popularity_exponent=0.1),
    ]
    assert len({t.fingerprint() for t in (table, *others)}) == len(others) + 1


@pytest.mark.parametrize("content", [b"", b"no table", b"{}" * 40])
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "blocks.safetensors"
    path.write_bytes(content)
    with pytest.raises(InputError, match="expected a table"):
        BlockTable.load(path)


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**31))
def test_a_person_folded_in_is_the_normalised_sum_of_unit_items(seed):
    rng = np.random.default_rng(seed)
    table = draw(seed)
    users, items = np.nonzero(rng.random((5, 6)) < 0.4)
    histories = Pairs.from_arrays(users, items, n_users=5, n_items=6)
    found = table.fold_in(histories)
    assert found.dtype == np.float32
    for person in range(5):
        total = np.zeros(6)
        for item in histories.of(person):
            total += table.items[item] / np.linalg.norm(table.items[item])
        norm = np.linalg.norm(total)
        np.testing.assert_allclose(found[person], total / norm if norm else total, atol=1e-4)
