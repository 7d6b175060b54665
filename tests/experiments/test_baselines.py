"""Every compared method, by one contract on a world whose best lists are known."""

import numpy as np
import pytest

from benchmarks.synthetic import two_tastes
from elasticrec.space import Budget
from experiments.baselines import BASELINES, BudgetTooSmall, Fitted

BUDGET = Budget(15_000)
EPOCHS = 8
CASES = [(name, loss) for name, method in BASELINES.items() for loss in method.losses]


@pytest.fixture(scope="module")
def world():
    """120 users, 200 items; of 140 items that a user has not seen, 20 are her test items."""
    return two_tastes(120, 200, np.random.default_rng(0))


@pytest.fixture(scope="module", params=CASES, ids="-".join)
def case(request, world):
    """A method's name, a loss, and what it fits with the first of its trials."""
    name, loss = request.param
    return name, loss, fit(world, name, loss, BUDGET, EPOCHS)


def fit(world, name, loss, budget, epochs):
    method = BASELINES[name]
    return method.fit(
        world, budget, loss=loss, settings=method.trials(loss)[0], seed=0, device="cpu",
        epochs=epochs,
    )  # fmt: skip


def recall(fitted, world):
    left = int(world.test.per_user.max())  # all that she has not been shown of her taste
    found = fitted.evaluate(world, (f"recall@{left}",), device="cpu")
    return found.metrics[f"recall@{left}"]


def test_learns_two_tastes(case, world):
    _, _, fitted = case
    assert recall(fitted, world) >= 0.85  # a guess finds one in seven


def test_keeps_to_the_budget_and_uses_it(case, tmp_path):
    _, _, fitted = case
    assert 0.85 * BUDGET.n_bytes <= fitted.n_bytes <= BUDGET.n_bytes
    fitted.save(tmp_path / "fitted.npz")
    with np.load(tmp_path / "fitted.npz") as file:  # what was written is what was counted
        stored = sum(file[name].nbytes for name in file.files if name.startswith("stored."))
        assert stored + file["users"][0].nbytes == fitted.n_bytes


def test_ranks_alike_after_loading(case, world, tmp_path):
    _, _, fitted = case
    fitted.save(tmp_path / "fitted.npz")
    loaded = Fitted.load(tmp_path / "fitted.npz")
    metrics = ("recall@5", "ndcg@20")
    before, after = (each.evaluate(world, metrics, device="cpu") for each in (fitted, loaded))
    for metric in metrics:
        np.testing.assert_array_equal(before.per_user[metric], after.per_user[metric])
    assert (loaded.n_bytes, loaded.dimensions) == (fitted.n_bytes, fitted.dimensions)
    assert loaded.seconds == fitted.seconds > 0


def test_ranks_by_nothing_but_what_is_stored(case, world):
    _, _, fitted = case
    rng = np.random.default_rng(0)
    most = max(fitted.stored.values(), key=lambda array: array.nbytes)
    shuffled = {
        name: rng.permutation(array.reshape(-1)).reshape(array.shape)
        if array is most or array.dtype.kind == "f"
        else array  # counts, and codes that must stay within bounds
        for name, array in fitted.stored.items()
    }
    other = Fitted(
        fitted.form, shuffled, fitted.users, fitted.dimensions, fitted.seconds, fitted.order
    )
    assert recall(other, world) < 0.6


def test_says_the_smallest_budget_that_works(case, world):
    name, loss, _ = case
    with pytest.raises(BudgetTooSmall) as caught:
        fit(world, name, loss, Budget(20), 1)
    smallest = caught.value.smallest
    assert fit(world, name, loss, Budget(smallest), 1).n_bytes <= smallest
    with pytest.raises(BudgetTooSmall, match=str(smallest)):
        fit(world, name, loss, Budget(smallest - 1), 1)


@pytest.mark.parametrize("name", BASELINES)
def test_has_a_known_name_and_as_many_trials_as_all(name):
    method = BASELINES[name]
    assert method.name == name
    assert method.sizes in ("retrained", "any")
    sharing = 1 if name == "pmf" else len(method.losses)
    for loss in method.losses:
        trials = method.trials(loss)
        assert len(trials) == 4 / sharing
        assert all(a != b for k, a in enumerate(trials) for b in trials[:k])


def test_equal_seeds_give_equal_bytes(world):
    one, two = (fit(world, "pmf-int8", "ours", BUDGET, 2) for _ in range(2))
    for name, array in one.stored.items():
        np.testing.assert_array_equal(array, two.stored[name])


def test_fixed_sizes_at_the_papers_budgets():
    from experiments.baselines.fixed_size import widest

    sizes = [Budget.parse(f"{mb}MB") for mb in (5, 10, 25)]
    assert [widest("pmf", "float32", 91_599, size) for size in sizes] == [13, 27, 68]
    found = [widest("pmf-int8", "int8", 91_599, size) for size in sizes]
    assert found == [52, 106, 256]  # 107 is a prime


@pytest.mark.gpu
@pytest.mark.parametrize(("name", "loss"), CASES)
def test_a_gpu_learns_two_tastes(world, name, loss):
    method = BASELINES[name]
    fitted = method.fit(
        world, BUDGET, loss=loss, settings=method.trials(loss)[0], seed=0, device="cuda",
        epochs=EPOCHS,
    )  # fmt: skip
    assert fitted.n_bytes <= BUDGET.n_bytes
    left = int(world.test.per_user.max())
    found = fitted.evaluate(world, (f"recall@{left}",), device="cuda")
    assert found.metrics[f"recall@{left}"] >= 0.85
