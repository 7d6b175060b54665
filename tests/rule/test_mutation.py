import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.rule.free_blocks import FreeBlocks
from elasticrec.search.menu_rows import MenuRows
from elasticrec.rule.mutation import MUTATIONS, move, mutate, reselect, swap
from elasticrec.space.budget import Budget, PaperAccounting
from elasticrec.space.composition import Menu
from elasticrec.space.ladder import Ladder


def counts(space, candidate):
    return space.compose(candidate).kept.sum(axis=1)


def spaces(sizes, N, share):
    accounting = PaperAccounting(np.array(sizes), N, 8)
    ladder = Ladder.of_counts(N, accounting)
    spare = ladder.full_bytes - ladder.smallest_bytes
    budget = Budget(ladder.smallest_bytes + int(share * spare))
    order = np.random.default_rng(0).permutation(N)
    return [
        MenuRows(Menu.f32_prefixes(order), accounting, budget),
        FreeBlocks(order, accounting, budget),
        FreeBlocks(order, accounting, budget, printed=True),
    ]


@settings(deadline=None, max_examples=60)
@given(
    sizes=st.lists(st.integers(1, 3000), min_size=1, max_size=12),
    N=st.integers(1, 10),
    share=st.floats(0, 1),
    seed=st.integers(0, 1000),
)
def test_every_child_of_every_mutation_is_within_budget(sizes, N, share, seed):
    rng = np.random.default_rng(seed)
    for space in spaces(sizes, N, share):
        parent = space.random(rng)
        for mutation in MUTATIONS.values():
            before = parent.copy()
            child = mutation(space, parent, rng)
            assert np.array_equal(parent, before)
            left = space.budget.n_bytes - space.n_bytes(child)
            assert left >= 0
            assert counts(space, child).min() >= 1
            if space.topped:
                assert not len(space.ladder.can_rise(space.rows(child), left))
            parent = child


@pytest.mark.parametrize("space", spaces([100] * 8, 6, 0.4), ids=["menu", "free", "printed"])
def test_swap_exchanges_two_groups_of_one_size_and_touches_no_other(space):
    rng = np.random.default_rng(0)
    for _ in range(30):
        parent = space.random(rng)
        child = swap(space, parent, rng)
        changed = [g for g in range(8) if not np.array_equal(parent[g], child[g])]
        assert len(changed) == 2
        a, b = changed
        assert np.array_equal(child[a], parent[b])
        assert np.array_equal(child[b], parent[a])


@pytest.mark.parametrize("space", spaces([100] * 8, 6, 0.4), ids=["menu", "free", "printed"])
def test_the_papers_two_mutations_only_permute_counts_and_move_does_not(space):
    """Ledger 5: with free blocks, swap and reselect see one multiset of counts per seed."""
    rng = np.random.default_rng(0)
    parent = space.random(rng)
    seen = {"swap": set(), "reselect": set(), "move": set()}
    for _ in range(60):
        for name, multisets in seen.items():
            child = MUTATIONS[name](space, parent, rng)
            multisets.add(tuple(sorted(counts(space, child).tolist())))
    own = {tuple(sorted(counts(space, parent).tolist()))}
    assert seen["swap"] == own
    if isinstance(space, FreeBlocks):
        assert seen["reselect"] == own
    assert len(seen["move"] | own) > 3


def test_a_swap_between_unequal_groups_is_repaired():
    """Ledger 5: it changes the bytes."""
    accounting = PaperAccounting(np.array([1000, 10]), 4, 8)
    space = FreeBlocks(np.arange(4), accounting, Budget(128 + 32 * (1000 + 4 * 10)))
    parent = np.array([[1, 0, 0, 0], [1, 1, 1, 1]], dtype=bool)
    assert space.n_bytes(parent) == space.budget.n_bytes
    child = swap(space, parent, np.random.default_rng(0))
    assert space.n_bytes(child) <= space.budget.n_bytes


def test_a_child_is_topped_up_only_if_its_parent_was_spent():
    space = spaces([100] * 8, 6, 0.4)[0]
    rng = np.random.default_rng(0)
    spent, unspent = space.random(rng), np.array([3, 2, 1, 0, 0, 0, 0, 0])
    assert space.is_spent(spent)
    assert not space.is_spent(unspent)
    for mutation in MUTATIONS.values():
        assert all(space.is_spent(mutation(space, spent, rng)) for _ in range(20))
        assert not any(space.is_spent(mutation(space, unspent, rng)) for _ in range(20))


def test_reselect_of_free_blocks_keeps_the_amount():
    space = spaces([100] * 8, 6, 0.4)[1]
    rng = np.random.default_rng(0)
    parent = space.random(rng)
    children = [reselect(space, parent, rng) for _ in range(40)]
    assert all(np.array_equal(child.sum(axis=1), parent.sum(axis=1)) for child in children)
    assert all((child != parent).any(axis=1).sum() <= 1 for child in children)
    assert len({child.tobytes() for child in children}) > 10


def test_reselect_of_menu_rows_draws_any_row_that_the_groups_bytes_pay_for():
    accounting = PaperAccounting(np.array([100]), 4, 8)
    menu = Menu(np.array([[32, 0, 0, 0], [0, 32, 0, 0], [0, 0, 32, 32]]), np.zeros(3, dtype=int))
    space = MenuRows(menu, accounting, Budget(128 + 100 * 32))
    rng = np.random.default_rng(0)
    assert {int(reselect(space, np.array([0]), rng)[0]) for _ in range(20)} == {1}


def test_move_takes_as_many_steps_from_a_small_group_as_a_large_one_needs():
    accounting = PaperAccounting(np.array([30, 10]), 4, 8)
    space = MenuRows(Menu.f32_prefixes(np.arange(4)), accounting, Budget(128 + 32 * (30 + 40)))
    rng = np.random.default_rng(3)
    children = {tuple(move(space, np.array([0, 3]), rng).tolist()) for _ in range(20)}
    assert children == {(1, 0)}


def test_move_takes_one_step_or_several_and_the_taker_uses_them():
    accounting = PaperAccounting(np.array([10, 10]), 8, 8)
    space = MenuRows(Menu.f32_prefixes(np.arange(8)), accounting, Budget(256 + 32 * 10 * 9))
    rng = np.random.default_rng(0)
    children = [tuple(move(space, np.array([6, 1]), rng).tolist()) for _ in range(400)]
    assert {sum(child) for child in children} == {7}
    given = [6 - first for first, _ in children if first < 6]
    assert set(given) > {1, 2, 3}
    assert given.count(1) / len(given) == pytest.approx(0.5, abs=0.12)


def test_a_mutation_that_can_do_nothing_gives_way():
    accounting = PaperAccounting(np.array([10] * 4), 4, 8)
    space = MenuRows(Menu.f32_prefixes(np.arange(4)), accounting, Budget(128 + 32 * 10 * 8))
    rng = np.random.default_rng(0)
    alike = np.full(4, 1)
    for _ in range(20):
        child, name = mutate(space, alike, ("swap", "move"), rng)
        assert name == "move" or np.array_equal(child, alike)
    child, _ = mutate(space, alike, ("swap",), rng)
    assert np.array_equal(child, alike)


def test_mutations_are_equally_likely():
    space = spaces([100] * 8, 6, 0.4)[0]
    rng = np.random.default_rng(0)
    parent = np.array([5, 4, 3, 2, 0, 0, 0, 0])
    names = [mutate(space, parent, tuple(MUTATIONS), rng)[1] for _ in range(900)]
    for name in MUTATIONS:
        assert 230 < names.count(name) < 370
