import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.errors import InputError
from elasticrec.space.composition import Menu
from elasticrec.space.menu import LEFT_OVER, NEIGHBOURS, default_menu, filled_depths

FALLING = 0.6 ** np.arange(16)


@settings(deadline=None, max_examples=60)
@given(
    energy=st.lists(st.floats(0, 1e3), min_size=1, max_size=6),
    total=st.integers(0, 48),
)
def test_planes_go_where_they_lower_the_error_most(energy, total):
    total = min(total, 8 * len(energy))
    depths = filled_depths(np.array(energy), [total])[0].astype(int)
    assert depths.sum() == total
    gains = np.array(energy)[:, None] * (LEFT_OVER[:-1] - LEFT_OVER[1:])  # (N, 8)
    taken = np.arange(8) < depths[:, None]
    assert gains[taken].min(initial=np.inf) >= gains[~taken].max(initial=0)


def test_equal_energies_fill_plane_by_plane_and_a_strong_block_gets_more():
    assert filled_depths(np.ones(4), [4, 8]).tolist() == [[1, 1, 1, 1], [2, 2, 2, 2]]
    assert filled_depths(np.array([10.0, 1.0, 1.0]), [1, 2, 3]).tolist() == [
        [1, 0, 0],
        [2, 0, 0],
        [3, 0, 0],
    ]


@settings(deadline=None, max_examples=60)
@given(
    energy=st.lists(st.floats(0, 1e3), min_size=1, max_size=6),
    totals=st.lists(st.integers(0, 48), min_size=1, max_size=4),
)
def test_all_words_come_before_any_signs_list_by_list(energy, totals):
    totals = sorted(min(total, 8 * len(energy)) for total in totals)
    for n_lists in (1, len(energy)):
        depths = filled_depths(np.array(energy), totals, n_lists=n_lists).astype(int)
        assert depths.sum(axis=1).tolist() == totals
        assert (np.diff(depths, axis=0) >= 0).all()
        assert depths.max() <= 8
        for row, total in zip(depths, totals, strict=True):
            assert (row[:n_lists] > 0).tolist() == (np.arange(n_lists) < total).tolist()
            if total <= n_lists:
                assert row.sum() == row[:n_lists].sum()


@pytest.mark.parametrize("n_blocks", [1, 3, 8, 16, 32])
def test_the_default_menu_covers_nothing_to_everything(n_blocks):
    menu = default_menu(0.6 ** np.arange(n_blocks))
    rows = {(int(d.sum()), int(k)) for d, k in zip(menu.depths, menu.neighbours, strict=True)}
    assert menu.n_rows <= 64
    assert {(0, k) for k in NEIGHBOURS} <= rows
    assert {(8 * n_blocks, 0), (8 * n_blocks, 64)} <= rows
    assert all((planes, 0) in rows for planes, _ in rows)


def test_no_row_keeps_more_neighbours_than_an_item_has():
    menu, longer = default_menu(FALLING, most_neighbours=16), default_menu(FALLING)
    rows, more = ({bytes([*d, k]) for d, k in zip(m.depths, m.neighbours, strict=True)}
                  for m in (menu, longer))  # fmt: skip
    assert menu.neighbours.max() == 16
    assert (menu.depths[menu.neighbours == 16] == 8).all(axis=1).any()
    assert rows < more


def test_dense_rows_are_nested_and_bytes_grow_in_small_steps():
    menu = default_menu(FALLING)
    alone = menu.depths[menu.neighbours == 0]
    assert (np.diff(alone.astype(int), axis=0) >= 0).all()
    each = np.sort(alone.sum(axis=1) + 0.0)
    assert (each[2:] / each[1:-1] <= 2).all()
    largest = menu.contained().all(axis=0)
    assert largest.sum() == 1  # one row contains every other
    assert (menu.depths[largest] == 8).all()


def test_saved_and_loaded(tmp_path):
    menu = default_menu(FALLING)
    menu.save(tmp_path / "menu.npz")
    same = Menu.load(tmp_path / "menu.npz")
    assert same.fingerprint() == menu.fingerprint()
    assert default_menu(FALLING).fingerprint() == menu.fingerprint()


def test_refuses_what_is_no_energy():
    for energy in ([], [-1.0], [np.nan], [[1.0]]):
        with pytest.raises(InputError, match="energies"):
            filled_depths(np.array(energy), [0])
    with pytest.raises(InputError, match="9 planes, expected 0 to 8"):
        filled_depths(np.ones(1), [9])
