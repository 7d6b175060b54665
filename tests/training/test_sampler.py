"""Batches: every pair once an epoch, unseen items never taken, and a resume like no break."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.data.interactions import Pairs
from elasticrec.errors import InputError
from elasticrec.training.config import TrainConfig
from elasticrec.training.sampler import Sampler


def draw(seed, n_users=9, n_items=12, share=0.4):
    rng = np.random.default_rng(seed)
    taken = rng.random((n_users, n_items)) < share
    taken[0, 0] = True
    users, items = np.nonzero(taken)
    return Pairs.from_arrays(users, items, n_users=n_users, n_items=n_items)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def by_users(train, batch_size=8, negatives=3, **more):
    config = TrainConfig(batch_size=batch_size, negatives=negatives)
    return Sampler(train, config, whole_users=True, **more)


def by_pairs(train, batch_size=8, negatives=3, **more):
    config = TrainConfig(batch_size=batch_size, negatives=negatives)
    return Sampler(train, config, **more)


def with_own(train, batch_size=8, negatives=3):
    config = TrainConfig(
        base="mf", loss="bpr", cooccurrence=0.0, batch_size=batch_size, negatives=negatives
    )
    return Sampler(train, config)


both = pytest.mark.parametrize("make", [by_users, by_pairs])


def pairs_of(batches):
    return [p for b in batches for p in zip(b.users[b.row].tolist(), b.seen.tolist(), strict=True)]


@both
@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**31), batch_size=st.integers(1, 60))
def test_an_epoch_visits_each_pair_once(make, seed, batch_size):
    train = draw(seed)
    sampler = make(train, batch_size)
    batches = list(sampler.epoch(seed, 0, generator()))
    assert sorted(pairs_of(batches)) == list(
        zip(train.users.tolist(), train.items.tolist(), strict=True)
    )
    assert 0 < len(batches) <= sampler.n_batches
    assert all((b.row.diff() >= 0).all() and (b.users.diff() > 0).all() for b in batches)


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**31), batch_size=st.integers(1, 60))
def test_users_come_whole_until_a_batch_is_full(seed, batch_size):
    train = draw(seed)
    batches = list(by_users(train, batch_size).epoch(seed, 0, generator()))
    everyone = torch.cat([batch.users for batch in batches]).tolist()
    assert sorted(everyone) == np.flatnonzero(train.per_user).tolist()
    sizes = np.cumsum([0, *(len(b.seen) for b in batches)])
    most = train.per_user.max()
    assert (np.diff(sizes) < batch_size + most).all()


def test_batches_of_pairs_are_full_but_for_the_last():
    batches = list(by_pairs(draw(4), 7).epoch(0, 0, generator()))
    assert all(len(batch.seen) == 7 for batch in batches[:-1])


@both
def test_the_order_is_fixed_by_seed_and_epoch_alone(make):
    sampler = make(draw(1), 5)

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
    for batch in with_own(train, 7, n_unseen).epoch(seed, 0, generator(seed)):
        assert batch.unseen.shape == (len(batch.seen), n_unseen)
        assert batch.taken is None
        users = batch.users[batch.row].numpy()
        hit = taken[users[:, None], batch.unseen.numpy()]
        assert not hit[~full[users]].any()


def test_own_unseen_items_are_uniform_over_what_is_left():
    train = Pairs.from_arrays(np.array([0, 0]), np.array([1, 3]), n_users=1, n_items=5)
    (batch,) = with_own(train, 2, 3000).epoch(0, 0, generator())
    counts = np.bincount(batch.unseen.flatten().numpy(), minlength=5)
    assert counts[[1, 3]].tolist() == [0, 0]
    np.testing.assert_allclose(counts[[0, 2, 4]], 2000, atol=150)  # 3.5 deviations


def test_a_user_who_took_everything_does_not_stop_the_world():
    train = Pairs.from_arrays(np.zeros(4, int), np.arange(4), n_users=1, n_items=4)
    (batch,) = with_own(train, 4, 1).epoch(0, 0, generator())
    assert batch.unseen.shape == (4, 1)


@both
@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**31), n_unseen=st.integers(1, 20), share=st.sampled_from([0.1, 0.9]))
def test_a_shared_pool_is_distinct_and_taken_marks_what_users_have_of_it(
    make, seed, n_unseen, share
):
    train = draw(seed, share=share)
    has = train.csr().toarray() > 0
    for batch in make(train, 8, n_unseen).epoch(seed, 0, generator(seed)):
        pool = batch.unseen.tolist()
        n = min(n_unseen, train.n_items)
        assert len(set(pool)) == len(pool) == n
        wanted = np.flatnonzero(has[batch.users.numpy()][:, pool])
        assert sorted(batch.taken.tolist()) == wanted.tolist()


def test_a_pool_is_uniform_over_items():
    sampler = by_users(draw(0, n_items=10), 1, 2)
    draws = generator(5)
    pools = [b.unseen for epoch in range(200) for b in sampler.epoch(0, epoch, draws)]
    counts = np.bincount(torch.cat(pools).numpy(), minlength=10)
    expected = 2 * len(pools) / 10
    np.testing.assert_allclose(counts, expected, atol=5 * expected**0.5)


@both
@pytest.mark.parametrize("skip", [1, 2])
def test_skipping_goes_on_as_if_never_stopped(make, skip):
    sampler = make(draw(2), 6, 4, near=np.arange(24).reshape(12, 2) % 12)
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
        for name in ("users", "seen", "row", "unseen", "taken", "near"):
            a, b = getattr(mine, name), getattr(wanted, name)
            assert (a is None and b is None) or torch.equal(a, b)


def test_no_pairs_are_refused():
    with pytest.raises(InputError, match="train has no pairs"):
        by_users(Pairs(np.zeros(3, np.int64), np.zeros(0, np.int32), 4))


def test_a_pool_of_very_many_items_is_distinct_uniform_and_nearly_as_large():
    train = Pairs.from_arrays(np.arange(400), np.arange(400), n_users=400, n_items=3000)
    pools = [batch.unseen for batch in by_users(train, 1, 100).epoch(0, 0, generator())]
    assert all(len(torch.unique(pool)) == len(pool) for pool in pools)
    assert 97 < np.mean([len(pool) for pool in pools]) <= 100
    counts = np.bincount(torch.cat(pools).numpy(), minlength=3000).reshape(30, 100).sum(axis=1)
    np.testing.assert_allclose(counts, counts.mean(), rtol=0.15)


def test_near_items_are_drawn_from_the_seen_items_lists():
    near = np.stack([np.arange(12), (np.arange(12) + 1) % 12, np.full(12, -1)], axis=1)
    (batch,) = by_users(draw(3), 4096, 2, near=near).epoch(0, 0, generator())
    offset = (batch.near - batch.seen) % 12
    assert set(offset[batch.near >= 0].tolist()) == {0, 1}
    assert (batch.near < 0).any()
    assert (batch.items[2] >= 0).all()


@both
def test_pairs_carry_their_weights(make):
    train = replace(draw(3), weights=None)
    weights = np.arange(1, len(train) + 1, dtype=np.float32)
    (batch,) = make(replace(train, weights=weights), 999).epoch(0, 0, generator())
    np.testing.assert_allclose(batch.weights.numpy(), weights / weights.mean(), rtol=1e-6)
