from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.errors import InputError
from elasticrec.ordering.order import (
    COLUMN,
    SLOT,
    Order,
    OrderConfig,
    all_levels,
    group_edges,
    make_order,
)
from elasticrec.space import Composition


def test_a_neighbour_comes_after_every_so_many_columns() -> None:
    found = "".join("cs"[kind] for kind, _ in all_levels(6, 4, 2))
    assert found == "ccsccsccss"


def test_fractions_bring_several_neighbours_per_column() -> None:
    assert "".join("cs"[kind] for kind, _ in all_levels(2, 5, 0.5)) == "csscsss"


configs = st.builds(
    OrderConfig,
    columns_per_slot=st.sampled_from([0.5, 1.0, 3.0, 8.0, 100.0]),
    lead=st.integers(0, 5),
    groups=st.integers(1, 8),
    group_items=st.integers(1, 20),
)


@settings(max_examples=200, deadline=None)
@given(
    n_items=st.integers(1, 60),
    columns=st.integers(1, 12),
    slots=st.integers(0, 6),
    config=configs,
    least=st.integers(1, 3),
)
def test_every_order_climbs_the_whole_all_levels(
    n_items: int, columns: int, slots: int, config: OrderConfig, least: int
) -> None:
    order = make_order(n_items, columns, slots, config, least=least)
    whole = order.composition()
    assert set(whole.columns.tolist()) == {columns}
    assert set(whole.slots.tolist()) == {slots}
    first = order.composition(order.least)
    assert set(first.columns.tolist()) == {min(least, columns)}
    assert set(first.slots.tolist()) == {0}
    for climbs in range(order.least, len(order)):  # popular items are never behind
        found = order.composition(climbs)
        assert (np.diff(found.columns.astype(int)) <= 0).all()
        assert (np.diff(found.slots.astype(int)) <= 0).all()


def test_each_group_leads_the_next_by_so_many_levels() -> None:
    order = make_order(100, 20, 0, OrderConfig(lead=3, groups=3, group_items=10))
    edges = group_edges(100, OrderConfig(lead=3, groups=3, group_items=10))
    assert edges == [0, 25, 50, 100]
    for climbs in range(order.least, len(order)):
        columns = order.composition(climbs).columns.astype(int)
        found = [set(columns[a:b]) for a, b in pairwise(edges)]
        assert [len(each) for each in found] == [1, 1, 1]
        levels = [each.pop() for each in found]
        assert all(high - low <= 4 for high, low in pairwise(levels))
        if levels[-1] > 3 and levels[0] < 20:
            assert all(high - low in (2, 3, 4) for high, low in pairwise(levels))
    assert [len(set(order.composition(n).columns)) for n in (2, len(order))] == [1, 1]


def test_groups_are_halves_of_halves_but_never_small_nor_many() -> None:
    many = OrderConfig(lead=1, groups=6, group_items=2048)
    assert group_edges(8_828, many) == [0, 2207, 4414, 8828]
    assert len(group_edges(10**6, many)) == 7
    assert group_edges(4_000, many) == [0, 4_000]
    assert group_edges(10**6, OrderConfig(lead=0)) == [0, 10**6]


def test_all_alike_differs_within_one_level_only() -> None:
    order = make_order(50, 5, 2, OrderConfig(lead=0, columns_per_slot=2))
    assert len(order) == 7
    assert all(len(order.composition(n).runs()) == 1 for n in range(1, 8))


@given(
    columns=st.lists(st.integers(0, 4), min_size=1, max_size=12),
    slots=st.lists(st.integers(0, 3), min_size=12, max_size=12),
)
def test_an_order_of_a_composition_ends_at_it(columns: list[int], slots: list[int]) -> None:
    wanted = Composition(np.array(columns), np.array(slots[: len(columns)]))
    found = Order.of_composition(wanted).composition()
    assert found.columns.tolist() == columns
    assert found.slots.tolist() == slots[: len(columns)]


def test_a_climb_out_of_turn_is_refused() -> None:
    order = Order.of_climbs(4, [(COLUMN, 1, 0, 4)], 1)
    with pytest.raises(InputError, match="column 1 to items from 0"):
        order.composition()
    beyond = Order.of_climbs(4, [(SLOT, 0, 2, 4)], 1)
    with pytest.raises(InputError, match="slot 0"):
        beyond.composition()


def test_saved_orders_are_the_same(tmp_path) -> None:
    order = make_order(30, 5, 2, OrderConfig())
    order.save(tmp_path / "order.npz")
    assert Order.load(tmp_path / "order.npz").fingerprint() == order.fingerprint()


@pytest.mark.parametrize("wrong", [{"columns_per_slot": 0}, {"groups": 0}, {"lead": -1}])
def test_wrong_settings_are_refused(wrong: dict) -> None:
    with pytest.raises(InputError, match="expected"):
        OrderConfig(**wrong)


def test_runs_of_a_composition() -> None:
    found = Composition(np.array([3, 3, 1, 1, 0]), np.array([1, 1, 1, 0, 0])).runs()
    assert found == [(0, 2, 3, 1), (2, 3, 1, 1), (3, 4, 1, 0), (4, 5, 0, 0)]
    assert Composition(np.array([1, 0]), np.array([0, 0])).listable.tolist() == [True, False]
    with pytest.raises(ValueError, match="one number per item"):
        Composition(np.zeros(3), np.zeros(2))
