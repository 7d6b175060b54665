"""A rotation changes no full score, and puts what matters first."""

import numpy as np
import pytest

from elasticrec.training.table import BlockTable
from elasticrec.compression.rotation import energy_rotation, rotated
from elasticrec.space.energy import block_energy


@pytest.fixture
def table(rng):
    scale = np.linspace(0.2, 2, 12)[rng.permutation(12)]
    mixing = np.linalg.qr(rng.normal(size=(12, 12)))[0]
    users = (rng.normal(size=(50, 12)) * scale @ mixing).astype(np.float32)
    items = (rng.normal(size=(80, 12)) * scale @ mixing + 0.3).astype(np.float32)
    fold_map = rng.normal(size=(12, 12)).astype(np.float32)
    return BlockTable(items.reshape(80, 3, 4), users, "mf", fold_map=fold_map)


def test_rotation_is_orthogonal_and_keeps_scores_and_fold_in(table, two_tastes):
    Q = energy_rotation(table)
    np.testing.assert_allclose(Q.T @ Q, np.eye(12), atol=1e-10)
    turned = rotated(table, Q)
    np.testing.assert_allclose(
        turned.users @ turned.items.T, table.users @ table.items.T, atol=1e-4
    )
    some = two_tastes.train.rows(np.arange(5))
    few = type(some)(some.indptr, some.items % 40, 80)
    np.testing.assert_allclose(
        turned.fold_in(few) @ turned.items.T, table.fold_in(few) @ table.items.T, atol=1e-4
    )


def test_energy_falls_from_block_to_block_and_the_first_holds_more_than_before(table):
    turned = rotated(table, energy_rotation(table))
    energy = block_energy(turned)
    assert (np.diff(energy) <= 0).all()
    assert energy[0] > block_energy(table).max()


def test_planted_directions_come_out_in_their_order(rng):
    scale = np.array([3.0, 2.0, 1.0, 0.5])
    vectors = rng.normal(size=(20_000, 4)) * scale
    shuffled = [2, 0, 3, 1]
    table = BlockTable(vectors[:, shuffled].reshape(-1, 2, 2), vectors[:, shuffled], "mf")
    Q = np.abs(energy_rotation(table))
    assert [shuffled[int(row)] for row in Q.argmax(axis=0)] == [0, 1, 2, 3]
    assert Q.max(axis=0).min() > 0.98


def test_tiled_tables_are_never_rotated(table):
    tiled = BlockTable(table.blocks, table.users, "mf", score="tiled")
    with pytest.raises(ValueError, match="expected aligned"):
        rotated(tiled, np.eye(12))
