"""Methods whose items differ in size or share rows: what is chosen, against hand-worked cases."""

import numpy as np
import pytest
import torch

from benchmarks.synthetic import planted_world
from elasticrec.training.rows import Leaves
from experiments.baselines import dlrm_ce, lightrec
from experiments.baselines.autoemb import candidates
from experiments.baselines.composed import MixedSizes, from_sizes, scaled, stored_sizes
from experiments.baselines.esapn import Search, grow
from experiments.baselines.fitting import Summed, everyone, fit_vectors, our_config
from experiments.baselines.lightrec import kmeans
from tests.training.test_history import draw, sums_slowly


def test_the_most_wanted_enlargements_that_fit_are_made():
    wishes = np.array([[0.9, 0.8], [0.5, 0.95], [0.1, 0.1]])
    sizes = (1, 2, 4)  # 3 numbers at least; a first step costs 1, a second one 2
    assert grow(sizes, wishes, 3).tolist() == [0, 0, 0]
    assert grow(sizes, wishes, 4).tolist() == [1, 0, 0]
    assert grow(sizes, wishes, 6).tolist() == [2, 0, 0]
    assert grow(sizes, wishes, 9).tolist() == [2, 2, 0]  # no size is skipped
    assert grow(sizes, wishes, 12).tolist() == [2, 2, 2]


def test_mixed_sizes_are_stored_as_they_are_composed(rng):
    sizes, chosen = (1, 2, 4), np.array([2, 0, 1, 2, 0])
    generator = torch.Generator().manual_seed(0)
    mixed = MixedSizes(sizes, torch.from_numpy(chosen))
    tables = mixed.tables(torch.randn(5, 4, generator=generator), generator)
    expected = mixed.compose(tables)
    for i, k in enumerate(chosen):
        row = tables["items"][i, : sizes[k]] @ tables[f"map{k}"]
        np.testing.assert_allclose(expected[i], row, atol=1e-6)
    stored = stored_sizes({name: t.numpy() for name, t in tables.items()}, sizes, chosen)
    assert len(stored["numbers"]) == 4 + 1 + 2 + 4 + 1
    np.testing.assert_allclose(from_sizes(stored), expected, atol=1e-6)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_policy_learns_what_is_rewarded(sign, monkeypatch):
    split = planted_world(400, 150, 8_000, np.random.default_rng(0), n_clusters=8, skew=1.0)
    config = our_config(split, 16, {"temperature": 0.2, "cooccurrence": 0.0}, 0, 6)
    search = Search((2, 16), split.n_items, config)

    def each(vectors, seen):
        """A loss that an enlargement lowers, or raises, by the log of how often an item came."""
        base = search.base
        return sign * torch.log(base.visits) * (1.0 if seen is base.before else 0.0)

    monkeypatch.setattr(search, "_each", each)
    fit_vectors(split, config, "cpu", make=search.make, loss=search.loss)
    counts = search.base.counts.numpy()
    np.testing.assert_array_equal(counts, split.train.per_item)  # the last pass of the stream
    chance = search.wishes()[:, 0] / np.maximum(counts, 1)
    often = np.argsort(-counts)
    many, few = chance[often[:15]].mean(), chance[often[-15:]].mean()
    assert many > 1.1 * few if sign > 0 else few > 1.1 * many


def test_a_real_loss_makes_the_policy_enlarge_popular_items_first():
    split = planted_world(400, 150, 8_000, np.random.default_rng(0), n_clusters=8, skew=1.0)
    config = our_config(split, 16, {"temperature": 0.2, "cooccurrence": 0.0}, 0, 2)
    search = Search((2, 4, 16), split.n_items, config)
    fit_vectors(split, config, "cpu", make=search.make, loss=search.loss)
    chosen = grow((2, 4, 16), search.wishes(), 150 * 6)
    often = np.argsort(-split.train.per_item)
    assert chosen[often[:30]].mean() > chosen[often[-30:]].mean() + 0.5


def test_candidate_sizes_have_the_sum_that_is_asked_for():
    for numbers in range(3, 60):
        found = candidates(numbers)
        assert sum(found) == numbers
        assert min(found) >= 1
    assert candidates(14) == (2, 4, 8)


def test_no_two_items_share_both_rows():
    remainders = dlrm_ce.Remainders(10, 4, np.arange(10)[::-1])
    pairs = set(zip(remainders.quotient.tolist(), remainders.remainder.tolist(), strict=True))
    assert len(pairs) == 10
    assert remainders.n_quotients == 3
    rows = {
        "quotients": np.array([[1.0], [2], [3]]),
        "remainders": np.array([[1.0], [5], [7], [9]]),
    }
    found = dlrm_ce.products(rows | {"n_items": np.array([10])})
    np.testing.assert_array_equal(found[:, 0], [1, 5, 7, 9, 2, 10, 14, 18, 3, 15])
    tables = {name: torch.from_numpy(x) for name, x in rows.items()}
    composed = remainders.compose(tables)  # by the split's numbers: the last is most popular
    np.testing.assert_array_equal(composed[:, 0], found[::-1, 0])


def test_more_codebooks_leave_less_over(rng):
    items = torch.as_tensor(rng.normal(size=(300, 8)), dtype=torch.float32)
    generator = torch.Generator().manual_seed(0)
    left, books, errors = items, [], []
    for _ in range(4):
        books.append(kmeans(left, 16, generator))
        codes = lightrec.residual_codes(items, torch.stack(books))
        left = items - lightrec.summed(torch.stack(books), codes)
        errors.append(float(left.square().mean()))
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.35 * errors[0]


def test_an_argmax_passes_on_the_gradient_of_a_softmax():
    base = lightrec.Coded(torch.zeros(1, 2), torch.ones(3, 2), torch.zeros(2, 4, 2))
    generator = torch.Generator().manual_seed(0)
    items = torch.randn(5, 2, generator=generator, requires_grad=True)
    books = torch.randn(2, 4, 2, generator=generator, requires_grad=True)
    found = base.sums(items, books)
    codes = lightrec.residual_codes(items.detach(), books.detach())
    np.testing.assert_allclose(
        found.detach(), lightrec.summed(books.detach(), codes), atol=1e-6
    )  # what is used is what will be stored
    of_items, of_books = torch.autograd.grad(found.square().sum(), [items, books])
    assert of_items.abs().sum() > 0
    used = torch.zeros(2, 4, dtype=torch.bool)
    for b in range(2):
        used[b, codes[:, b]] = True
    assert (of_books.abs().sum(dim=2)[used] > 0).all()


def test_vectors_without_scales_are_scored_as_they_are(rng):
    items = rng.normal(size=(4, 3)).astype(np.float32)
    assert scaled(items, {}) is items
    coded = {"scales": np.zeros(4, np.uint8), "scale_ends": np.log(np.float32([2, 4]))}
    np.testing.assert_allclose(scaled(items, coded), 2 * items, rtol=1e-6)


def test_a_summed_user_is_her_own_vector_plus_her_items():
    train, items, batch = draw(4)
    own = torch.randn(train.n_users, 4, generator=torch.Generator().manual_seed(9))
    base = Summed(own, items, train)
    users, vectors = base.forward(Leaves(base.tables), batch)
    of_items = sums_slowly(train, items, batch)
    mine = own[batch.users]
    torch.testing.assert_close(users.vectors, mine + of_items[0], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(users.asking, mine[batch.row] + of_items[1], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(vectors[0], items[batch.seen])
    final_users, final_items = base.final()
    torch.testing.assert_close(final_users, own + everyone(train, items))
    assert final_items is items


def test_everyone_is_the_normalised_sum_of_unit_vectors():
    train, items, _ = draw(2)
    units = items / items.norm(dim=1, keepdim=True)
    sums = torch.from_numpy(train.csr().toarray()).float() @ units
    expected = sums / sums.norm(dim=1, keepdim=True).clamp(min=1e-12)
    torch.testing.assert_close(everyone(train, items), expected, atol=1e-5, rtol=1e-5)
