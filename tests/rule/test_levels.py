import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.compression.neighbours import Neighbours
from elasticrec.errors import InputError
from elasticrec.ordering.order import Order, OrderConfig, make_order
from elasticrec.rule.config import SpaceConfig
from elasticrec.rule.levels import NEVER, Levels, climbed
from elasticrec.space import Budget
from elasticrec.stream.writer import Facts, stream_parts

from .conftest import levels, made_codes


def test_levels_are_what_the_first_item_has_after_each_step():
    order = make_order(100, 4, 2, OrderConfig(columns_per_slot=2, lead=2), least=2)
    columns, slots = climbed(order, 32)
    assert list(zip(columns.tolist(), slots.tolist(), strict=True)) == [
        (2, 0), (2, 1), (3, 1), (4, 1), (4, 2),
    ]  # fmt: skip


def test_long_ladders_are_thinned_evenly_by_growth():
    order = make_order(100, 200, 40, OrderConfig(columns_per_slot=5), least=2)
    columns, slots = climbed(order, 16)
    assert 10 <= len(columns) <= 16
    assert (columns[0], slots[0]) == (2, 0)
    assert (columns[-1], slots[-1]) == (200, 40)
    steps = np.diff(np.log1p(columns + slots))
    assert steps.max() < 2 * np.median(steps)


def random_neighbours(rng, V, S):
    votes = -np.sort(-rng.integers(0, 16, size=(V, S)), axis=1).astype(np.uint8)
    numbers = np.where(votes > 0, rng.integers(0, V, size=(V, S)), 0).astype(np.uint32)
    return Neighbours(numbers, votes, np.arange(16, dtype=np.uint16), 3)


@settings(deadline=None, max_examples=60)
@given(
    V=st.integers(40, 700),
    C=st.integers(1, 12),
    S=st.integers(0, 5),
    G=st.integers(1, 5),
    n_books=st.integers(1, 3),
    seed=st.integers(0, 1000),
)
def test_size_is_the_length_of_the_stream_that_is_written(V, C, S, G, n_books, seed):
    rng = np.random.default_rng(seed)
    codes, neighbours = made_codes(V, C, n_books=n_books), random_neighbours(rng, V, S)
    order = make_order(V, C, S, OrderConfig(columns_per_slot=2), least=1)
    space = Levels(codes, order, SpaceConfig(n_groups=G))
    candidate = rng.integers(1, space.most + 1, size=G)
    one = Order.of_composition(space.composition(candidate))
    parts = stream_parts(
        codes,
        neighbours,
        np.ones((C + 1, 2), dtype=np.float32),
        one,
        facts=Facts("00" * 32, one.least),
    )
    assert sum(map(len, parts)) == space.size(candidate)


def test_groups_are_even_ranges_of_eights():
    space = levels(V=1003, G=4)
    assert space.group_sizes.tolist() == [256, 256, 248, 243]
    assert len(space.composition(np.full(4, 1)).columns) == 1003
    with pytest.raises(InputError, match="expected at most 5 groups"):
        levels(V=40, G=6)


def test_a_composition_gives_the_first_group_to_the_popular():
    space = levels(V=80, G=2, C=4, S=2)
    composition = space.composition(np.array([space.most, 1]))
    assert composition.columns[:40].tolist() == [4] * 40
    assert composition.slots[:40].tolist() == [2] * 40
    assert composition.columns[40:].tolist() == [1] * 40
    assert not composition.slots[40:].any()


def test_more_chunks_than_a_stream_may_have_never_fit():
    space = levels(V=64, C=300, S=0, G=8, n_levels=400)
    jagged = np.array([space.most, 1] * 4)
    assert space.size(np.full(8, space.most)) < NEVER
    assert space.size(jagged) == NEVER  # 4 runs of 300 columns


def test_totals_are_uniform_in_their_logarithm():
    space, rng = levels(V=4000, C=60, S=10), np.random.default_rng(0)
    totals = np.log([space.draw_total(rng).n_bytes for _ in range(2000)])
    low, high = np.log(space.smallest.n_bytes), np.log(space.full.n_bytes)
    shares = (totals - low) / (high - low)
    assert np.histogram(shares, 4, (0, 1))[0].min() > 420
    assert shares.min() >= 0


def test_features_rise_bit_by_bit_from_none_to_all():
    space = levels(V=80, C=60, S=10, G=2)
    bits = space.features(np.arange(1, space.most + 1)[:, None].repeat(2, axis=1))
    assert bits.shape == (space.most, 2, space.config.n_features)
    assert not bits[0].any()
    assert (bits[-1] == 1).all()
    assert (np.diff(bits, axis=0) >= 0).all()
    assert (np.diff(bits.sum(axis=2), axis=0) > 0).all()  # no two levels look alike
    assert (bits[:, :, :-1] >= bits[:, :, 1:]).all()


def test_levels_are_what_they_are(rng):
    space = levels()
    candidate = np.array([1, 3, 2, 5])
    assert space.counts(candidate).tolist() == candidate.tolist()
    assert space.counts(candidate) is not candidate
    assert space.fill(candidate, rng).tolist() == candidate.tolist()
    assert space.evenly(candidate).tolist() == candidate.tolist()
    assert space.with_counts(candidate, candidate[::-1], rng).tolist() == [5, 2, 3, 1]


def test_the_full_size_is_the_largest():
    space = levels(V=400)
    sizes = space.sizes(np.arange(1, space.most + 1)[:, None].repeat(4, axis=1))
    assert (np.diff(sizes) > 0).all()
    assert (space.smallest, space.full) == (Budget(int(sizes[0])), Budget(int(sizes[-1])))
