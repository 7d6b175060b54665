"""Pair by pair in a slow loop, the fast step is the same; it learns, and resumes bit-equal."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.errors import InputError
from elasticrec.data.synthetic import two_tastes as make_two_tastes
from elasticrec.training.sampler import Batch
from elasticrec.evaluation.ranking import evaluate
from elasticrec.training.adagrad import PairAdagrad
from elasticrec.training.config import TrainConfig
from elasticrec.training.loop import InterruptedTraining, train

CONFIG = TrainConfig(
    loss="bpr", optimizer="adagrad", n_blocks=2, block_size=2, epochs=20, batch_size=128,
    negatives=2, learning_rate=0.1, evaluate_every=1, patience=0, metric="recall@4", l2=0.01,
)  # fmt: skip


def slow_step(tables, sums, batch, rate, l2):
    """The loss after a step, one pair and one row at a time."""
    users, items = tables["users"].copy(), tables["items"].copy()
    D, loss, pulls = users.shape[1], 0.0, []
    for b, (user, seen) in enumerate(zip(batch.users, batch.seen, strict=True)):
        u, i = users[user], items[seen]
        unseen = max(batch.unseen[b].tolist(), key=lambda item: u @ items[item])
        j = items[unseen]
        share = 1 / (1 + np.exp(u @ (i - j)))
        loss += -np.log(1 - share)
        pulls += [("users", user, share * (i - j)), ("items", seen, share * u)]
        pulls += [("items", unseen, -share * u)]
    for name, row, pull in pulls:
        sums[name][row] += (pull**2).sum() / D
    for name, row, pull in pulls:
        gradient = -pull + l2 * {"users": users, "items": items}[name][row]
        tables[name][row] -= rate / np.sqrt(sums[name][row]) * gradient
    return loss / len(batch.users)


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**31), m=st.integers(1, 3), l2=st.sampled_from([0.0, 0.1]))
def test_steps_are_those_of_a_slow_loop(seed, m, l2):
    rng = np.random.default_rng(seed)
    tables = {name: rng.normal(size=(5, 4)).astype(np.float32) for name in ("users", "items")}
    ours = {name: torch.from_numpy(table.copy()) for name, table in tables.items()}
    slow = {name: table.astype(np.float64) for name, table in tables.items()}
    sums = {name: np.full(5, l2**2 + 1e-12) for name in slow}
    optimizer = PairAdagrad(ours, l2)
    for B in (7, 3, 9):  # rows named many times over, and memory that shrinks and grows
        batch = Batch(*(torch.from_numpy(rng.integers(5, size=s)) for s in (B, B, (B, m))))
        loss = optimizer.step(batch, 0.1)
        batch = Batch(batch.users.numpy(), batch.seen.numpy(), batch.unseen.numpy())
        wanted = slow_step(slow, sums, batch, 0.1, l2)
        assert float(loss) == pytest.approx(wanted, rel=1e-4)
    for name, table in slow.items():
        np.testing.assert_allclose(ours[name].numpy(), table, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(optimizer.sums[name].numpy(), sums[name], rtol=1e-3)


def test_rows_of_no_pair_stay_as_they_are():
    tables = {name: torch.ones(4, 2) for name in ("users", "items")}
    tables["items"][2] = 0.5
    batch = Batch(torch.tensor([1]), torch.tensor([0]), torch.tensor([[2]]))
    PairAdagrad(tables, 0.1).step(batch, 0.1)
    assert (tables["users"] == 1).all(dim=1).tolist() == [True, False, True, True]
    assert (tables["items"] == 1).all(dim=1).tolist() == [False, True, False, True]


def test_a_row_that_nothing_pulls_at_shrinks_by_no_more_than_the_rate():
    """A user who took everything may meet an item of hers as its own rival."""
    tables = {name: torch.ones(3, 2) for name in ("users", "items")}
    batch = Batch(torch.tensor([1]), torch.tensor([0]), torch.tensor([[0]]))
    PairAdagrad(tables, 0.01).step(batch, 0.1)
    torch.testing.assert_close(tables["users"][1], torch.full((2,), 0.9))


@pytest.mark.parametrize("init", ["spectral", "random"])
def test_learns_two_tastes(init):
    split = make_two_tastes(300, 24, np.random.default_rng(0))
    trained = train(split, replace(CONFIG, init=init), device="cpu")
    left = int(split.test.per_user.max())
    found = evaluate(trained.table, split, metrics=(f"recall@{left}",))
    assert found.metrics[f"recall@{left}"] >= 0.99


def test_resumed_training_is_bit_equal(tmp_path, two_tastes):
    config = replace(CONFIG, epochs=4, batch_size=32)
    whole = train(two_tastes, config, device="cpu")
    checkpoint, asked = tmp_path / "checkpoint.safetensors", iter(range(8))
    with pytest.raises(InterruptedTraining):
        train(
            two_tastes, config, device="cpu", checkpoint=checkpoint,
            stop=lambda: next(asked, None) is None,
        )  # fmt: skip
    parts = train(two_tastes, config, device="cpu", checkpoint=checkpoint, resume=True)
    np.testing.assert_array_equal(parts.table.blocks, whole.table.blocks)
    np.testing.assert_array_equal(parts.table.users, whole.table.users)


@pytest.mark.parametrize(
    "wrong",
    [
        {"base": "lightgcn"}, {"loss": "softmax"}, {"score": "tiled"}, {"aggregation": True},
        {"elastic": 0.5}, {"diversity": 0.1},
    ],
)  # fmt: skip
def test_it_is_refused_where_it_does_not_belong(wrong):
    with pytest.raises(InputError, match="optimizer='adagrad' belongs to base='mf' with loss"):
        replace(CONFIG, **wrong)
