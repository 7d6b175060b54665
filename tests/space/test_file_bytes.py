import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.errors import InputError
from elasticrec.space.budget import Budget
from elasticrec.space.composition import F32, Composition, Menu
from elasticrec.space.file_bytes import FileAccounting, number_bits, slot_bytes
from elasticrec.space.ladder import Ladder


def by_hand(
    sizes,
    depths,
    neighbours,
    *,
    id_bytes=0,
    n_withdrawn=0,
    map=False,  # noqa: A002
    n_lists=0,
):
    """The page's layout, section by section."""
    G, N = len(sizes), len(depths[0])
    V = sum(sizes)
    bits = max(1, len(bin(V - 1)) - 2)
    codes = sum(n * (1 + sum(row)) for n, row in zip(sizes, depths, strict=True) if any(row))
    slots = sum(
        K * ((bits // 8) * n + (bits % 8) * ((n + 7) // 8) + (n + 1) // 2)
        for n, K in zip(sizes, neighbours, strict=True)
    )
    lengths = [64, 512, G * (16 + N), (G + 1) * 8 * N * 2, 12 * N + 144 + 1024 + 64, codes]
    lengths += [n for n in (slots, (8 * N) ** 2 * 2 * map, id_bytes, 4 * n_withdrawn) if n]
    lengths += [32 * 8 * N * n_lists + 2048] if n_lists else []
    end = 64 + 32 * len(lengths)
    for length in lengths:
        end = (end + 63) // 64 * 64 + length
    return end


shapes = st.tuples(
    st.lists(st.integers(1, 700), min_size=1, max_size=5),
    st.integers(1, 24),
    st.sampled_from([0, 1, 63, 64, 4000]),
    st.sampled_from([0, 1, 5]),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)


@settings(deadline=None, max_examples=200)
@given(shapes)
def test_the_formula_is_the_layout_of_the_page(shape):
    sizes, N, id_bytes, n_withdrawn, with_map, seed = shape
    rng = np.random.default_rng(seed)
    beside = {"id_bytes": id_bytes, "n_withdrawn": min(n_withdrawn, sum(sizes)), "map": with_map}
    beside |= {"n_lists": int(rng.integers(N + 1))}
    depths = rng.integers(0, 9, (4, len(sizes), N)) * rng.integers(0, 2, (4, len(sizes), 1))
    neighbours = rng.integers(0, 65, (4, len(sizes))) * rng.integers(0, 2, (4, 1))
    accounting = FileAccounting(np.array(sizes), N, **beside)
    expected = [
        by_hand(sizes, d.tolist(), k.tolist(), **beside)
        for d, k in zip(depths, neighbours, strict=True)
    ]
    reserved = 48 + 2 * 8 * N
    assert (accounting.sizes(depths, neighbours) - reserved).tolist() == expected
    one = Composition(depths[0], neighbours[0])
    assert accounting.file_bytes(one) == expected[0]
    assert accounting.size(one) == expected[0] + reserved
    without = FileAccounting(np.array(sizes), N, vector=False, **beside)
    assert without.size(one) == without.file_bytes(one) == expected[0]


@settings(deadline=None, max_examples=100)
@given(shapes)
def test_what_a_ladder_charges_is_the_file_or_at_most_126_bytes_more(shape):
    sizes, N, id_bytes, n_withdrawn, with_map, seed = shape
    rng = np.random.default_rng(seed)
    accounting = FileAccounting(
        np.array(sizes),
        N,
        id_bytes=id_bytes,
        n_withdrawn=min(n_withdrawn, sum(sizes)),
        map=with_map,
        n_lists=int(rng.integers(N + 1)),
    )
    planes = rng.integers(0, 9, (6, N)) * rng.integers(0, 2, (6, 1))
    counts = rng.integers(0, 17, 6) * rng.integers(0, 2)
    table = accounting.row_table(planes, counts)
    choice = rng.integers(0, 6, len(sizes))
    charged = accounting.fixed_bytes + int(table[np.arange(len(sizes)), choice].sum())
    exact = accounting.size(Composition(planes[choice], counts[choice]))
    # A file without neighbours also saves an entry of the section table, and with it 0 or 64 bytes.
    assert exact <= charged <= exact + 126 + (0 if counts[choice].any() else 64)
    assert accounting.row_bytes(0, planes[2], int(counts[2])) == table[0, 2]


def test_a_neighbour_costs_21_bits_per_item_of_amazon_book():
    assert number_bits(91_599) == 17
    assert slot_bytes(91_599, np.array([91_599])).tolist() == [2 * 91_599 + 11_450 + 45_800]


@pytest.mark.parametrize(("n_items", "bits"), [(1, 1), (2, 1), (3, 2), (256, 8), (257, 9)])
def test_bits_of_a_number(n_items, bits):
    assert number_bits(n_items) == bits


def test_a_group_may_keep_nothing():
    accounting = FileAccounting(np.array([100, 50]), 2)
    assert not accounting.needs_block
    assert accounting.row_bytes(0, np.array([0, 0]), 0) == 0
    assert accounting.row_bytes(0, np.array([0, 3]), 0) == 100 * 4


def test_too_small_a_budget_names_one_that_works():
    accounting = FileAccounting(np.array([30, 30]), 1)
    menu = Menu(np.array([[0], [1], [8]]), np.array([0, 1, 4]))
    ladder = Ladder.of(menu, accounting)
    with pytest.raises(InputError, match=f"{ladder.smallest_bytes} bytes"):
        ladder.allowance(Budget(ladder.smallest_bytes - 1))
    assert accounting.size(menu.compose(ladder.cheapest)) <= ladder.smallest_bytes


@pytest.mark.parametrize(
    ("sizes", "n_blocks", "beside", "words"),
    [
        ([0, 3], 2, {}, "none empty"),
        ([], 2, {}, "none empty"),
        ([2.5], 2, {}, "none empty"),
        ([3], 0, {}, "0 blocks"),
        ([3], 257, {}, "257 blocks"),
        ([1] * 4097, 2, {}, "4097 groups"),
        ([2**26, 1], 2, {}, "67108865 items"),
        ([3], 2, {"n_withdrawn": 4}, "4 withdrawn items"),
        ([3], 2, {"id_bytes": -1}, "-1 bytes of ids"),
    ],
)
def test_what_no_bundle_can_hold_is_refused(sizes, n_blocks, beside, words):
    with pytest.raises(InputError, match=words):
        FileAccounting(np.array(sizes), n_blocks, **beside)


def test_rows_that_no_bundle_can_hold_are_refused():
    accounting = FileAccounting(np.array([3]), 2)
    with pytest.raises(InputError, match="depth 32"):
        accounting.size(Composition(np.array([[F32, 0]]), np.array([0])))
    with pytest.raises(InputError, match="65 neighbours"):
        accounting.size(Composition(np.array([[1, 0]]), np.array([65])))
    with pytest.raises(InputError, match="rows of 3 blocks"):
        accounting.row_table(np.zeros((1, 3), np.uint8), np.zeros(1, np.uint8))
