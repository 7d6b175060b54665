"""Every base learns a known world, resumes bit-equal, and never reads test."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.functional import softplus

from elasticrec.training.bases import random_table, take
from elasticrec.errors import InputError
from elasticrec.data.interactions import Pairs
from elasticrec.data.synthetic import two_tastes as make_two_tastes
from elasticrec.evaluation.ranking import evaluate
from elasticrec.training.config import TrainConfig
from elasticrec.training.loop import InterruptedTraining, train


@pytest.fixture(scope="module", name="two_tastes")
def many_with_two_tastes():
    """Enough users per item that no base can learn them by heart."""
    return make_two_tastes(300, 24, np.random.default_rng(0))


SMALL = TrainConfig(
    n_blocks=2, block_size=2, epochs=20, batch_size=128, negatives=16, learning_rate=0.05,
    evaluate_every=1, patience=0, metric="recall@4", l2=0.01, temperature=0.5,
)  # fmt: skip
BPR = replace(SMALL, loss="bpr", negatives=2)


def stop_after(n):
    """A `stop` that says yes from its n-th question on."""
    asked = iter(range(n - 1))
    return lambda: next(asked, None) is None


@pytest.mark.parametrize("base", ["mf", "lightgcn", "history"])
@pytest.mark.parametrize("config", [SMALL, BPR], ids=["softmax", "bpr"])
@pytest.mark.parametrize("score", ["aligned", "tiled"])
@pytest.mark.parametrize("init", ["spectral", "random"])
def test_learns_two_tastes(two_tastes, base, config, score, init):
    trained = train(two_tastes, replace(config, base=base, score=score, init=init))
    table = trained.table
    assert (table.users is None) == (base == "history")
    left = int(two_tastes.test.per_user.max())  # all that she has not been shown of her taste
    found = evaluate(table, two_tastes, metrics=(f"recall@{left}",))
    assert found.metrics[f"recall@{left}"] >= 0.99  # of 300 users, at most a few miss one item


@pytest.mark.parametrize("base", ["mf", "lightgcn", "history"])
def test_resumed_training_is_bit_equal(tmp_path, two_tastes, base):
    config = replace(
        SMALL, base=base, cooccurrence=0.3, elastic=0.5, diversity=1e-3, l2=1e-4, epochs=4
    )
    whole = train(two_tastes, config, device="cpu")
    checkpoint = tmp_path / "checkpoint.safetensors"
    for n_steps in (3, 7, 11):  # in the middle of epochs, three times over
        with pytest.raises(InterruptedTraining):
            train(
                two_tastes, config, device="cpu", checkpoint=checkpoint, resume=True,
                stop=stop_after(n_steps),
            )  # fmt: skip
    parts = train(two_tastes, config, device="cpu", checkpoint=checkpoint, resume=True)
    np.testing.assert_array_equal(parts.table.blocks, whole.table.blocks)
    if base != "history":
        np.testing.assert_array_equal(parts.table.users, whole.table.users)
        np.testing.assert_array_equal(parts.table.fold_map, whole.table.fold_map)
    values = [look["value"] for look in whole.progress.looks]
    assert [look["value"] for look in parts.progress.looks] == values
    for name in ("seconds", "cpu_seconds"):  # they go on counting, too
        passed = [look[name] for look in parts.progress.looks]
        assert passed == sorted(passed)
        assert round(getattr(parts.progress, name), 2) >= passed[-1] > 0  # looks are rounded


def test_equal_seeds_give_equal_tables_and_other_seeds_others(two_tastes):
    one, two = (train(two_tastes, SMALL, device="cpu").table for _ in range(2))
    np.testing.assert_array_equal(one.blocks, two.blocks)
    other = train(two_tastes, replace(SMALL, seed=1), device="cpu").table
    assert not np.array_equal(one.blocks, other.blocks)


def test_test_pairs_are_never_read(two_tastes):
    nothing = Pairs(np.zeros(two_tastes.n_users + 1, np.int64), np.zeros(0, np.int32),
                    two_tastes.n_items)  # fmt: skip
    blind = train(replace(two_tastes, test=nothing), SMALL, device="cpu")
    seeing = train(two_tastes, SMALL, device="cpu")
    np.testing.assert_array_equal(blind.table.blocks, seeing.table.blocks)


@pytest.mark.parametrize("aggregation", [False, True])
def test_rows_and_whole_steps_learn_alike(two_tastes, aggregation, monkeypatch):
    """Stepping whole tables instead of rows changes only the moments of idle rows."""
    config = replace(SMALL, batch_size=4096, negatives=200, epochs=3, aggregation=aggregation)
    tables = []
    for share in (0, 1 << 40):  # always by rows; never
        monkeypatch.setattr("elasticrec.training.optimizer._SHARE", share)
        tables.append(train(two_tastes, config, device="cpu").table)
    by_rows, whole = tables
    np.testing.assert_allclose(by_rows.blocks, whole.blocks, atol=2e-3)
    np.testing.assert_allclose(by_rows.users, whole.users, atol=2e-3)


def test_early_stopping_returns_the_best_look(two_tastes):
    config = replace(
        SMALL, epochs=40, evaluate_every=1, patience=2, metric="recall@5", popularity_gain=0.0
    )
    trained = train(two_tastes, config, device="cpu")
    assert trained.progress.stopped
    assert trained.progress.epoch < 40
    assert trained.progress.best == max(look["value"] for look in trained.progress.looks)
    found = evaluate(trained.table, two_tastes, part="validation", metrics=("recall@5",))
    assert found.metrics["recall@5"] == pytest.approx(trained.progress.best, abs=1e-6)


def test_checkpoint_of_other_settings_or_data_is_refused(tmp_path, two_tastes):
    checkpoint = tmp_path / "checkpoint.safetensors"
    train(two_tastes, replace(SMALL, epochs=1), device="cpu", checkpoint=checkpoint)
    other = replace(SMALL, epochs=1, learning_rate=0.5)
    with pytest.raises(InputError, match=r"learning_rate=0\.05.*expected 0\.5"):
        train(two_tastes, other, device="cpu", checkpoint=checkpoint, resume=True)
    with pytest.raises(InputError, match="another split"):
        train(replace(two_tastes, name="else"), replace(SMALL, epochs=1), device="cpu",
              checkpoint=checkpoint, resume=True)  # fmt: skip
    checkpoint.write_bytes(b"not a checkpoint")
    with pytest.raises(InputError, match="not a checkpoint"):
        train(two_tastes, SMALL, device="cpu", checkpoint=checkpoint, resume=True)


def test_diverging_training_says_so(two_tastes):
    config = replace(BPR, diversity=1e30, diversity_form="printed", learning_rate=1e20)
    with pytest.raises(FloatingPointError, match="lower learning_rate or diversity"):
        train(two_tastes, config, device="cpu")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"base": "svd"}, "expected one of mf, lightgcn, history"),
        ({"n_blocks": 0}, "n_blocks must be positive, got 0"),
        ({"temperature": 0.0}, "temperature must be above 0"),
        ({"l2": -1.0}, "l2 must not be negative"),
        ({"loss": "bpr", "cooccurrence": 0.5}, "belong to loss='softmax'"),
    ],
)
def test_contradictions_are_refused(wrong, message):
    with pytest.raises(InputError, match=message):
        TrainConfig(**wrong)


def test_popularity_gain_is_chosen_on_validation_and_never_worse_there(planted):
    config = replace(SMALL, n_blocks=4, epochs=4, metric="recall@20")
    plain = train(planted, replace(config, popularity_gain=0.0), device="cpu")
    gained = train(planted, config, device="cpu")
    before, after = (
        evaluate(each.table, planted, part="validation", metrics=("recall@20",)).metrics[
            "recall@20"
        ]
        for each in (plain, gained)
    )
    assert after >= before
    norms = np.linalg.norm(gained.table.items, axis=1)
    popularity = planted.train.per_item + 1.0
    expected = (popularity / popularity.max()) ** gained.progress.gain
    np.testing.assert_allclose(norms, expected, rtol=1e-4)
    assert gained.progress.gain > 0  # this world has popular items


def test_a_given_popularity_gain_is_used_as_it_is(planted):
    config = replace(SMALL, epochs=1, popularity_gain=0.3)
    trained = train(planted, config, device="cpu")
    popularity = planted.train.per_item + 1.0
    assert trained.progress.gain == 0.3
    np.testing.assert_allclose(
        np.linalg.norm(trained.table.items, axis=1),
        (popularity / popularity.max()) ** 0.3,
        rtol=1e-4,
    )


@pytest.mark.gpu
@pytest.mark.parametrize(
    "config",
    [
        SMALL, replace(SMALL, aggregation=True, cooccurrence=0.3), replace(SMALL, base="history"),
        replace(SMALL, base="lightgcn"), BPR,
        replace(BPR, optimizer="adagrad", learning_rate=0.1),
    ],
)  # fmt: skip
def test_a_gpu_learns_two_tastes(two_tastes, config):
    trained = train(two_tastes, config, device="cuda")
    left = int(two_tastes.test.per_user.max())
    found = evaluate(trained.table, two_tastes, metrics=(f"recall@{left}",), device="cuda")
    assert found.metrics[f"recall@{left}"] >= 0.99


class Shared:
    """Items that share the rows of two small tables, as a base of someone else's may."""

    name = "shared"
    by_rows = ("users",)
    units = False

    def __init__(self, train, config, generator):
        rows = {"users": train.n_users, "halves": 2, "places": (train.n_items + 1) // 2}
        self.tables = {
            name: random_table(n, config.dimensions, 1.0, generator) for name, n in rows.items()
        }
        numbers = torch.arange(train.n_items, device=generator.device)
        self.half, self.place = numbers // rows["places"], numbers % rows["places"]

    def forward(self, tables, rows, batch, items):
        return rows["users"][0], take(self.items(tables), items)

    def items(self, tables):
        return tables["halves"][self.half] + 0.1 * tables["places"][self.place]

    def final(self):
        return self.tables["users"], self.items(self.tables)


def test_a_base_and_a_loss_of_ones_own_learn_and_resume_bit_equal(tmp_path, two_tastes):
    asked = []

    def logistic(vectors, taken, has_near, mask):
        asked.append(taken)
        seen = (vectors.users * vectors.seen).sum(dim=1)
        unseen = (vectors.users[:, None] * vectors.unseen).sum(dim=2)
        return softplus(-seen).mean() + softplus(unseen).mean()

    def run(**more):
        return train(two_tastes, BPR, device="cpu", make=Shared, loss=logistic, **more)

    whole = run()
    assert len(asked) == whole.progress.steps  # it was this loss that was minimised
    left = int(two_tastes.test.per_user.max())
    found = evaluate(whole.table, two_tastes, metrics=(f"recall@{left}",))
    assert found.metrics[f"recall@{left}"] >= 0.99
    checkpoint = tmp_path / "checkpoint.safetensors"
    with pytest.raises(InterruptedTraining):
        run(checkpoint=checkpoint, stop=stop_after(7))
    parts = run(checkpoint=checkpoint, resume=True)
    np.testing.assert_array_equal(parts.table.blocks, whole.table.blocks)
    np.testing.assert_array_equal(parts.table.users, whole.table.users)
    softmax = train(two_tastes, SMALL, device="cpu", make=Shared)  # whose gain needs no `items`
    found = evaluate(softmax.table, two_tastes, metrics=(f"recall@{left}",))
    assert found.metrics[f"recall@{left}"] >= 0.99
