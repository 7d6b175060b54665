"""Batches: every pair once an epoch, unseen items never taken, and a resume like no break."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.data.interactions import Pairs
from elasticrec.training.sampler import Sieve, TripleSampler, ascending


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
    sampler = TripleSampler(train, batch_size=batch_size, unseen=3, shared=shared)
    batches = list(sampler.epoch(seed, 0, generator()))
    wanted = list(zip(train.users.tolist(), train.items.tolist(), strict=True))
    assert sorted(pairs_of(batches)) == wanted
    assert len(batches) == sampler.n_batches
    assert all(len(b.users) == batch_size for b in batches[:-1])


def test_the_order_is_fixed_by_seed_and_epoch_alone():
    sampler = TripleSampler(draw(1), batch_size=5, unseen=2, shared=False)

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
    sampler = TripleSampler(train, batch_size=7, unseen=n_unseen, shared=False)
    for batch in sampler.epoch(seed, 0, generator(seed)):
        assert batch.unseen.shape == (len(batch.users), n_unseen)
        assert batch.taken is None
        users = batch.users.numpy()
        hit = taken[users[:, None], batch.unseen.numpy()]
        assert not hit[~full[users]].any()


def test_own_unseen_items_are_uniform_over_what_is_left():
    train = Pairs.from_arrays(np.array([0, 0]), np.array([1, 3]), n_users=1, n_items=5)
    sampler = TripleSampler(train, batch_size=2, unseen=3000, shared=False)
    (batch,) = sampler.epoch(0, 0, generator())
    counts = np.bincount(batch.unseen.flatten().numpy(), minlength=5)
    assert counts[[1, 3]].tolist() == [0, 0]
    np.testing.assert_allclose(counts[[0, 2, 4]], 2000, atol=150)  # 3.5 deviations


def test_a_user_who_took_everything_does_not_stop_the_world():
    train = Pairs.from_arrays(np.zeros(4, int), np.arange(4), n_users=1, n_items=4)
    sampler = TripleSampler(train, batch_size=4, unseen=1, shared=False)
    (batch,) = sampler.epoch(0, 0, generator())
    assert batch.unseen.shape == (4, 1)


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**31), n_unseen=st.integers(1, 20), share=st.sampled_from([0.1, 0.9]))
def test_a_shared_pool_is_distinct_and_taken_marks_what_users_have_of_it(seed, n_unseen, share):
    train = draw(seed, share=share)
    has = train.csr().toarray() > 0
    sampler = TripleSampler(train, batch_size=8, unseen=n_unseen, shared=True)
    for batch in sampler.epoch(seed, 0, generator(seed)):
        pool = batch.unseen.tolist()
        n = min(n_unseen, train.n_items)
        assert len(set(pool)) == len(pool) == n
        wanted = np.flatnonzero(has[batch.users.numpy()][:, pool])
        assert sorted(batch.taken.tolist()) == wanted.tolist()


def test_a_pool_is_uniform_over_items():
    train = draw(0, n_items=10)
    sampler = TripleSampler(train, batch_size=1, unseen=2, shared=True)
    draws = generator(5)
    pools = [b.unseen for epoch in range(60) for b in sampler.epoch(0, epoch, draws)]
    counts = np.bincount(torch.cat(pools).numpy(), minlength=10)
    expected = 2 * len(pools) / 10
    np.testing.assert_allclose(counts, expected, atol=5 * expected**0.5)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("skip", [1, 3])
def test_skipping_goes_on_as_if_never_stopped(shared, skip):
    sampler = TripleSampler(draw(2), batch_size=6, unseen=4, shared=shared)
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
        for name in ("users", "seen", "unseen", "taken"):
            a, b = getattr(mine, name), getattr(wanted, name)
            assert (a is None and b is None) or torch.equal(a, b)


def test_no_pairs_are_refused():
    nothing = Pairs(np.zeros(3, np.int64), np.zeros(0, np.int32), 4)
    with pytest.raises(ValueError, match="train has no pairs"):
        TripleSampler(nothing, batch_size=2, unseen=1, shared=True)


def test_ascending_leaves_its_argument_alone():
    numbers = torch.tensor([3, 1, 2, 1])
    assert ascending(numbers).tolist() == [1, 1, 2, 3]
    assert numbers.tolist() == [3, 1, 2, 1]


def test_own_items_stay_in_the_pool_when_asked():
    train = draw(0, share=0.9)
    sampler = TripleSampler(train, batch_size=8, unseen=train.n_items, shared=True, own=True)
    for batch in sampler.epoch(0, 0, generator(0)):
        assert batch.taken is None
        assert sorted(batch.unseen.tolist()) == list(range(train.n_items))


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**31), n_known=st.integers(1, 3000))
def test_a_sieve_lets_all_known_numbers_pass_and_few_others(seed, n_known):
    rng = np.random.default_rng(seed)
    numbers = torch.from_numpy(rng.choice(2**40, size=n_known + 4000, replace=False))
    known, others = numbers[:n_known], numbers[n_known:]
    sieve = Sieve(known)
    assert sieve.left(known).tolist() == list(range(n_known))
    assert len(sieve.left(others)) < 4000 / 6  # one in eight expected, at most


def test_a_sieve_tells_neighbours_apart():
    """Keys of one user lie close together, and so must not share their marks."""
    known = torch.arange(0, 30_000, 10)
    between = torch.arange(30_000)[torch.arange(30_000) % 10 != 0]
    assert len(Sieve(known).left(between)) < len(between) / 6
