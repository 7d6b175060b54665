import numpy as np

from elasticrec.training.table import BlockTable
from elasticrec.space.energy import block_energy, energy_order


def a_table(score, users=True):
    rng = np.random.default_rng(0)
    blocks = rng.normal(size=(9, 4, 2)) * np.array([1, 3, 0.1, 2])[:, None] + 1
    vectors = rng.normal(size=(7, 8)).astype(np.float32)
    base = "mf" if users else "history"
    return BlockTable(blocks.astype(np.float32), vectors if users else None, base, score)


def by_pairs(table, users, n):
    """What block n adds to the score of every pair, as Eq. 2 or its aligned form says."""
    d = table.block_size
    e = table.blocks[:, n] - table.blocks[:, n].mean(axis=0)
    folded = users.reshape(-1, table.n_blocks, d)
    u = folded.sum(axis=1) if table.score == "tiled" else folded[:, n]
    return np.mean((u @ e.T) ** 2)


def test_energy_is_the_mean_square_over_all_pairs():
    for score in ("aligned", "tiled"):
        table = a_table(score)
        expected = [by_pairs(table, table.users, n) for n in range(4)]
        assert np.allclose(block_energy(table), expected, rtol=1e-4)


def test_history_tables_take_items_for_users():
    table = a_table("aligned", users=False)
    expected = [by_pairs(table, table.items, n) for n in range(4)]
    assert np.allclose(block_energy(table), expected, rtol=1e-4)


def test_the_order_begins_with_the_strongest_block():
    table = a_table("tiled")
    assert energy_order(table).tolist() == [1, 3, 0, 2]
    assert energy_order(table, users=table.users).tolist() == [1, 3, 0, 2]
