from dataclasses import replace

import numpy as np
import pytest

from elasticrec.compression.compress import compress
from elasticrec.compression.config import CompressionConfig
from elasticrec.compression.neighbours import VoteWeight, make_neighbours
from elasticrec.data.ids import Ids
from elasticrec.data.interactions import Pairs
from elasticrec.data.split import Split
from elasticrec.data.splitting import by_popularity
from elasticrec.errors import InputError
from elasticrec.ordering.order import OrderConfig, climb_bytes, cut, make_order, prefix_bytes
from elasticrec.ordering.search import (
    OrderSearchConfig,
    _between,
    _Search,
    find_order,
    some_persons,
)

CONFIG = OrderSearchConfig(
    columns_per_slot=(2.0, 8.0), leads=(0, 4), vote_multiples=(0.5, 1.0), vote_powers=(0.5,),
    vote_grid=3, sizes=(4, 11), vote_sizes=(11,),
)  # fmt: skip


@pytest.fixture(scope="module")
def world(planted):
    """The split, the items, and what they are compressed to."""
    split, _ = by_popularity(planted)
    rng = np.random.default_rng(0)
    gram = (split.train.csr().T @ split.train.csr()).toarray()
    values, vectors = np.linalg.eigh(gram + 0.01 * rng.normal(size=gram.shape))
    items = (vectors[:, -16:] * np.sqrt(np.abs(values[-16:]))).astype(np.float32)
    items /= np.linalg.norm(items, axis=1, keepdims=True)
    settings = CompressionConfig(stages=2, min_support=2)
    return split, items, compress(items, settings), make_neighbours(split.train, settings)


def test_the_order_of_a_model(world) -> None:
    split, _, codes, lists = world
    lines: list[str] = []
    found = find_order(codes, lists, split, CONFIG, device="cpu", report=lines.append)
    names = [choice.name for choice in found.choices]
    assert names == ["vote weight, history", "columns_per_slot", "lead"]
    assert found.weights.shape == (codes.n_columns + 1, 2)
    assert (found.weights[:, 0] == found.weights[:, 1]).all()
    assert set(found.order.composition().columns.tolist()) == {codes.n_columns}
    assert any("popular first by 4" in line for line in lines)
    again = find_order(codes, lists, split, CONFIG, device="cpu")
    assert again.order.fingerprint() == found.order.fingerprint()


def test_persons_by_vector_have_weights_of_their_own(world) -> None:
    split, items, codes, lists = world
    sums = split.train.csr() @ items @ codes.rotation
    found = find_order(codes, lists, split, CONFIG, vectors=sums, device="cpu")
    assert [c.name for c in found.choices][:1] == ["vote weight, vector"]
    assert "vote weight, history" in [c.name for c in found.choices]


def test_nobody_to_choose_by_is_refused(world) -> None:
    split, _, codes, lists = world
    empty = split.validation.rows(np.zeros(0, dtype=int))
    nobody = replace(split, validation=replace(empty, indptr=np.zeros(split.n_users + 1, int)))
    with pytest.raises(InputError, match="nobody has validation items"):
        find_order(codes, lists, nobody, CONFIG, device="cpu")


def test_votes_count_less_as_codes_get_better(world) -> None:
    _, _, codes, _ = world
    cosines = codes.cosines
    assert cosines[0] == 0
    assert (np.diff(cosines) >= 0).all()
    assert cosines[-1] > 0.9
    flat, falling = (VoteWeight(2.0, power, 0.02).at(cosines) for power in (0.0, 0.5))
    assert (flat == 2).all()
    assert (np.diff(falling) <= 0).all()
    assert falling[-1] < falling[0]


def test_cuts_are_within_their_bytes_and_grow(world) -> None:
    _, _, codes, lists = world
    order = make_order(codes.n_items, codes.n_columns, lists.slots, OrderConfig(lead=4))
    before, whole = -1, int(climb_bytes(order, codes).sum()) + 1000
    for n_bytes in [*range(0, whole, 997), whole]:
        found = cut(order, codes, n_bytes)
        kept = int(found.columns.sum()) + int(found.slots.sum())
        assert kept >= before
        before = kept
    assert kept == codes.n_items * (codes.n_columns + lists.slots)


def test_a_cut_within_a_climb_gives_it_to_the_first_items(world) -> None:
    _, _, codes, lists = world
    order = make_order(codes.n_items, codes.n_columns, lists.slots, OrderConfig(lead=0))
    sizes = climb_bytes(order, codes)
    head = 276 + codes.dimensions
    for climbs in (2, 5):  # a quarter of the bytes of the next column: a quarter of its 200 items
        found = cut(order, codes, head + sizes[:climbs].sum() + sizes[climbs] / 4)
        assert found.columns.tolist() == [climbs + 1] * 50 + [climbs] * 150
        assert not found.slots.any()
    slot = int(np.flatnonzero(order.kind)[0])
    found = cut(order, codes, head + sizes[:slot].sum() + sizes[slot] / 2)
    assert found.slots.tolist() == [1] * 100 + [0] * 100


def test_a_codebook_counts_once(world) -> None:
    _, _, codes, lists = world
    order = make_order(codes.n_items, codes.n_columns, lists.slots, OrderConfig(lead=0))
    sizes = climb_bytes(order, codes)
    books = sum(book.size + 64 for book in codes.codebooks)
    columns = codes.n_columns * (codes.n_items + 16)
    slots = lists.slots * int(np.ceil(codes.n_items * (8 + 4) / 8))
    assert codes.n_items == 200  # 8 binary digits
    assert sizes.sum() == books + columns + slots + 32 * len(order)


def test_values_are_read_off_between_the_points_of_a_grid() -> None:
    grid, values = np.array([0.0, 1.0, 3.0]), np.array([[0.0, 1.0], [1.0, 0.0], [5.0, 0.0]])
    assert _between(grid, values, 0.25).tolist() == [0.25, 0.75]
    assert _between(grid, values, 2.0).tolist() == [3.0, 0.0]
    assert _between(grid, values, 3.0).tolist() == [5.0, 0.0]
    assert _between(np.zeros(3), values, 0.0).tolist() == [0.0, 1.0]


def test_persons_are_drawn_by_a_seed(world) -> None:
    split = world[0]
    some = some_persons(split, 50, 10, 1)
    assert len(some) == 50
    assert (split.validation.per_user[some] > 0).all()
    assert some.tolist() == some_persons(split, 50, 10, 1).tolist()
    assert some.tolist() != some_persons(split, 50, 10, 2).tolist()


@pytest.mark.parametrize(("able", "choose"), [(3_000, 3_000), (7_000, 5_000), (16_000, 8_000)])
def test_half_of_many_persons_choose_nothing(able, choose) -> None:
    users = np.arange(able)
    pairs = Pairs.from_arrays(users, users % 9, n_users=able, n_items=9)
    none = Pairs.from_arrays(users[:0], users[:0], n_users=able, n_items=9)
    split = Split(pairs, pairs, none, Ids.dense(able), Ids.dense(9))
    assert len(some_persons(split, 10_000, 5_000, 0)) == choose


def test_sizes_without_a_useful_prefix_are_left_out(world) -> None:
    split, _, codes, lists = world
    search = _Search(codes, lists, split, CONFIG, 2, None, "cpu", lambda _: None)
    order = OrderConfig(lead=0)
    least = prefix_bytes(search.make(order), codes)[1] / codes.n_items
    weights = np.zeros((codes.n_columns + 1, 2))

    def measured(*sizes: float) -> np.ndarray:
        return search.values(order, weights, sizes, "history")

    np.testing.assert_array_equal(measured(least / 2, least, 99), measured(least, 99))
    assert len(measured(least / 3, least / 2)) == 1
