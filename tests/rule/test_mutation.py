import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.rule.config import MUTATIONS
from elasticrec.rule.evolution import move, mutate, reselect, swap
from elasticrec.rule.search_space import random_candidate
from elasticrec.space import Budget

from .conftest import blocks, budget_of, half_way, levels

BY_NAME = {"swap": swap, "reselect": reselect, "move": move}
SPACES = {
    "blocks": blocks([96] * 8, 6),
    "printed": blocks([96] * 8, 6, top_up=False),
    "levels": levels(V=768, C=12, S=2, G=8),
}


@settings(deadline=None, max_examples=60)
@given(
    sizes=st.lists(st.integers(1, 3000), min_size=1, max_size=12),
    N=st.integers(1, 10),
    share=st.floats(0, 1),
    seed=st.integers(0, 1000),
)
def test_every_child_of_every_mutation_is_within_budget(sizes, N, share, seed):
    rng = np.random.default_rng(seed)
    V = 8 * len(sizes) + int(sum(sizes)) // 10
    for space in (
        blocks(sizes, N),
        blocks(sizes, N, top_up=False),
        levels(V=V, C=N, G=len(sizes)),
    ):
        spare = space.full.n_bytes - space.smallest.n_bytes
        budget = Budget(space.smallest.n_bytes + int(share * spare))
        parent = random_candidate(space, budget, rng)
        for mutation in BY_NAME.values():
            before = parent.copy()
            child = mutation(space, parent, budget, rng)
            assert np.array_equal(parent, before)
            counts = space.counts(child)
            assert 1 <= counts.min() <= counts.max() <= space.most
            assert space.size(counts) <= budget.n_bytes
            if space.top_up:
                assert not len(space.affordable(counts, budget))
            parent = child


@pytest.mark.parametrize("space", [SPACES["blocks"], SPACES["printed"]], ids=["topped", "printed"])
def test_swap_exchanges_two_groups_of_one_size_and_touches_no_other(space):
    rng, budget = np.random.default_rng(0), half_way(space)
    pairs = set()
    for _ in range(60):
        parent = random_candidate(space, budget, rng)
        child = swap(space, parent, budget, rng)
        changed = [g for g in range(8) if not np.array_equal(parent[g], child[g])]
        assert len(changed) == 2
        a, b = changed
        assert np.array_equal(child[a], parent[b])
        assert np.array_equal(child[b], parent[a])
        pairs.add((a, b))
    assert len(pairs) > 20


@pytest.mark.parametrize("name", SPACES)
def test_the_papers_two_mutations_only_permute_counts_and_move_does_not(name):
    """Ledger 5: with free blocks, swap and reselect see one multiset of counts per seed."""
    space, rng = SPACES[name], np.random.default_rng(0)
    budget = half_way(space)
    parent = random_candidate(space, budget, rng)
    seen = {mutation: set() for mutation in BY_NAME}
    for _ in range(60):
        for mutation, multisets in seen.items():
            child = BY_NAME[mutation](space, parent, budget, rng)
            multisets.add(tuple(sorted(space.counts(child).tolist())))
    own = {tuple(sorted(space.counts(parent).tolist()))}
    if name != "levels":
        assert seen["swap"] == seen["reselect"] == own
    assert len(seen["move"] | own) > 3


def test_a_swap_between_unequal_groups_is_repaired():
    """Ledger 5: it changes the bytes."""
    space = blocks([1000, 10], 4)
    budget = Budget(128 + 32 * (1000 + 4 * 10))
    parent = np.array([[1, 0, 0, 0], [1, 1, 1, 1]], dtype=bool)
    assert space.size(space.counts(parent)) == budget.n_bytes
    child = swap(space, parent, budget, np.random.default_rng(0))
    assert space.size(space.counts(child)) <= budget.n_bytes
    assert child.any(axis=1).all()


def test_reselect_of_blocks_keeps_the_amount_and_meets_every_group():
    space, rng = SPACES["printed"], np.random.default_rng(0)
    budget = half_way(space)
    parent = random_candidate(space, budget, rng)
    children = [reselect(space, parent, budget, rng) for _ in range(80)]
    assert all(np.array_equal(child.sum(axis=1), parent.sum(axis=1)) for child in children)
    changed = [np.flatnonzero((child != parent).any(axis=1)) for child in children]
    assert {len(groups) for groups in changed} <= {0, 1}
    partly = np.flatnonzero((parent.sum(axis=1) > 0) & (parent.sum(axis=1) < 6))
    assert set(np.concatenate(changed).tolist()) == set(partly.tolist())


def test_reselect_of_levels_draws_any_level():
    space, rng = levels(V=768, C=12, S=2, G=8, top_up=False), np.random.default_rng(0)
    parent = np.full(8, 1)
    drawn = {int(reselect(space, parent, space.full, rng).max()) for _ in range(300)}
    assert drawn == set(range(1, space.most + 1))


def test_move_takes_as_many_from_a_small_group_as_a_large_one_needs():
    space, rng = blocks([30, 10], 4), np.random.default_rng(3)
    budget = Budget(128 + 32 * (30 + 40))
    parent = np.array([[1, 0, 0, 0], [1, 1, 1, 1]], dtype=bool)
    children = {tuple(move(space, parent, budget, rng).sum(axis=1).tolist()) for _ in range(20)}
    assert children == {(2, 1)}


def test_move_takes_one_or_several_and_the_taker_uses_them():
    space, rng = blocks([10, 10], 8), np.random.default_rng(0)
    budget, parent = budget_of(space, 9), np.arange(8) < np.array([[7], [2]])
    children = [move(space, parent, budget, rng).sum(axis=1) for _ in range(400)]
    assert {int(child.sum()) for child in children} == {9}
    given_up = [7 - int(first) for first, _ in children if first < 7]
    assert set(given_up) > {1, 2, 3}
    assert given_up.count(1) / len(given_up) == pytest.approx(0.5, abs=0.12)


def test_a_mutation_that_can_do_nothing_gives_way():
    space, rng = levels(V=96, C=4, S=1, G=4), np.random.default_rng(0)
    alike = np.full(4, 2)
    budget = Budget(space.size(alike))
    for _ in range(20):
        child, name = mutate(space, alike, budget, ("swap", "reselect", "move"), rng)
        assert name in ("reselect", "move") or np.array_equal(child, alike)
    child, name = mutate(space, alike, budget, ("swap",), rng)
    assert name == "swap"
    assert np.array_equal(child, alike)


def test_mutations_are_equally_likely():
    space, rng = SPACES["blocks"], np.random.default_rng(0)
    budget = half_way(space)
    parent = space.fill(np.array([5, 4, 3, 2, 2, 2, 4, 2]), rng)
    names = [mutate(space, parent, budget, MUTATIONS, rng)[1] for _ in range(900)]
    for name in MUTATIONS:
        assert 230 < names.count(name) < 370
