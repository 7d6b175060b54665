"""Batches: every pair once an epoch, unseen items never taken, and a resume like no break."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.data.interactions import Pairs
from elasticrec.errors import InputError
from elasticrec.training.sampler import Sampler


def draw(seed, n_users=9, n_items=12, share=0.4):
    rng = np.random.default_rng(seed)
    taken = rng.random((n_users, n_items)) < share
    taken[0, 0] = True
    users, items = np.nonzero(taken)
    return Pairs.from_arrays(users, items, n_users=n_users, n_items=n_items)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def pairs_of(batches):
    return [p for b in batches for p in zip(b.users.tolist(), b.seen.tolist(), strict=True)]


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**31), batch_size=st.integers(1, 60), shared=st.booleans())
def test_an_epoch_visits_each_pair_once(seed, batch_size, shared):
    train = draw(seed)
    sampler = Sampler(train, batch_size=batch_size, unseen=3, shared=shared)
    batches = list(sampler.epoch(seed, 0, generator()))
    wanted = list(zip(train.users.tolist(), train.items.tolist(), strict=True))
    assert sorted(pairs_of(batches)) == wanted
    assert len(batches) == sampler.n_batches
    assert all(len(b.users) == batch_size for b in batches[:-1])


def test_the_order_is_fixed_by_seed_and_epoch_alone():
    sampler = Sampler(draw(1), batch_size=5, unseen=2, shared=False)

    def order(seed, epoch, draws):
        return [sorted(pairs_of([b])) for b in sampler.epoch(seed, epoch, generator(draws))]

    assert order(3, 4, 0) == order(3, 4, 99)
    assert order(3, 4, 0) != order(3, 5, 0)
    assert order(3, 4, 0) != order(4, 4, 0)


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**31), n_unseen=st.integers(1, 4))
def test_own_unseen_items_are_never_taken(seed, n_unseen):
    train = draw(seed, share=0.25)
    full = train.per_user > train.n_items / 3  # there, 17 draws may all be taken
    taken = train.csr().toarray() > 0
    sampler = Sampler(train, batch_size=7, unseen=n_unseen, shared=False)
    for batch in sampler.epoch(seed, 0, generator(seed)):
        assert batch.unseen.shape == (len(batch.users), n_unseen)
        assert batch.taken is None
        users = batch.users.numpy()
        hit = taken[users[:, None], batch.unseen.numpy()]
        assert not hit[~full[users]].any()


def test_own_unseen_items_are_uniform_over_what_is_left():
    train = Pairs.from_arrays(np.array([0, 0]), np.array([1, 3]), n_users=1, n_items=5)
    sampler = Sampler(train, batch_size=2, unseen=3000, shared=False)
    (batch,) = sampler.epoch(0, 0, generator())
    counts = np.bincount(batch.unseen.flatten().numpy(), minlength=5)
    assert counts[[1, 3]].tolist() == [0, 0]
    np.testing.assert_allclose(counts[[0, 2, 4]], 2000, atol=150)  # 3.5 deviations


def test_a_user_who_took_everything_does_not_stop_the_world():
    train = Pairs.from_arrays(np.zeros(4, int), np.arange(4), n_users=1, n_items=4)
    sampler = Sampler(train, batch_size=4, unseen=1, shared=False)
    (batch,) = sampler.epoch(0, 0, generator())
    assert batch.unseen.shape == (4, 1)


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**31), n_unseen=st.integers(1, 20), share=st.sampled_from([0.1, 0.9]))
def test_a_shared_pool_is_distinct_and_taken_marks_what_users_have_of_it(seed, n_unseen, share):
    train = draw(seed, share=share)
    has = train.csr().toarray() > 0
    sampler = Sampler(train, batch_size=8, unseen=n_unseen, shared=True)
    for batch in sampler.epoch(seed, 0, generator(seed)):
        pool = batch.unseen.tolist()
        n = min(n_unseen, train.n_items)
        assert len(set(pool)) == len(pool) == n
        wanted = np.flatnonzero(has[batch.users.numpy()][:, pool])
        assert sorted(batch.taken.tolist()) == wanted.tolist()


def test_a_pool_is_uniform_over_items():
    train = draw(0, n_items=10)
    sampler = Sampler(train, batch_size=1, unseen=2, shared=True)
    draws = generator(5)
    pools = [b.unseen for epoch in range(60) for b in sampler.epoch(0, epoch, draws)]
    counts = np.bincount(torch.cat(pools).numpy(), minlength=10)
    expected = 2 * len(pools) / 10
    np.testing.assert_allclose(counts, expected, atol=5 * expected**0.5)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("skip", [1, 3])
def test_skipping_goes_on_as_if_never_stopped(shared, skip):
    near = np.arange(24).reshape(12, 2) % 12
    sampler = Sampler(draw(2), batch_size=6, unseen=4, shared=shared, near=near)
    draws = generator(8)
    whole, state = [], None
    for number, batch in enumerate(sampler.epoch(1, 2, draws)):
        whole.append(batch)
        if number == skip - 1:
            state = draws.get_state()
    later = generator(0)
    later.set_state(state)
    rest = list(sampler.epoch(1, 2, later, skip))
    assert len(rest) == len(whole) - skip > 0
    for mine, wanted in zip(rest, whole[skip:], strict=True):
        for name in ("users", "seen", "unseen", "taken", "near"):
            a, b = getattr(mine, name), getattr(wanted, name)
            assert (a is None and b is None) or torch.equal(a, b)


def test_no_pairs_are_refused():
    nothing = Pairs(np.zeros(3, np.int64), np.zeros(0, np.int32), 4)
    with pytest.raises(InputError, match="train has no pairs"):
        Sampler(nothing, batch_size=2, unseen=1, shared=True)


def test_a_pool_of_very_many_items_is_distinct_uniform_and_nearly_as_large():
    train = Pairs.from_arrays(np.zeros(400, int), np.arange(400), n_users=1, n_items=3000)
    sampler = Sampler(train, batch_size=1, unseen=100, shared=True)
    pools = [batch.unseen for batch in sampler.epoch(0, 0, generator())]
    assert all(len(torch.unique(pool)) == len(pool) for pool in pools)
    assert 97 < np.mean([len(pool) for pool in pools]) <= 100
    counts = np.bincount(torch.cat(pools).numpy(), minlength=3000).reshape(30, 100).sum(axis=1)
    np.testing.assert_allclose(counts, counts.mean(), rtol=0.15)


def test_near_items_are_drawn_from_the_seen_items_lists():
    train = draw(3)
    near = np.stack([np.arange(12), (np.arange(12) + 1) % 12, np.full(12, -1)], axis=1)
    sampler = Sampler(train, batch_size=4096, unseen=2, shared=True, near=near)
    (batch,) = sampler.epoch(0, 0, generator())
    offset = (batch.near - batch.seen) % 12
    assert set(offset[batch.near >= 0].tolist()) == {0, 1}
    assert (batch.near < 0).any()
    assert (batch.items[2] >= 0).all()


def test_pairs_are_visited_in_proportion_to_their_weights():
    weights = np.array([1, 2, 5, 4], dtype=np.float32)
    train = replace(
        Pairs.from_arrays(np.array([0, 0, 1, 2]), np.array([0, 1, 2, 0]), n_users=3, n_items=3),
        weights=weights,
    )
    sampler = Sampler(train, batch_size=4, unseen=1, shared=True)
    counts = np.zeros((3, 3))
    for epoch in range(300):
        (batch,) = sampler.epoch(0, epoch, generator())
        np.add.at(counts, (batch.users.numpy(), batch.seen.numpy()), 1)
        visits = counts[train.users, train.items]
    assert counts.sum() == visits.sum() == 4 * 300  # as many visits as pairs, none of others
    np.testing.assert_allclose(visits, 100 * weights, atol=20)


def test_equal_weights_visit_each_pair_once():
    train = draw(3)
    weighted = replace(train, weights=np.full(len(train), 0.3, dtype=np.float32))
    (batch,) = Sampler(weighted, batch_size=999, unseen=1, shared=True).epoch(0, 0, generator())
    assert (batch.users * train.n_items + batch.seen).tolist() == train.keys().tolist()
