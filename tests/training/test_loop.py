"""Every base learns a known world, resumes bit-equal, says how far it is, and never reads test."""

import logging
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.functional import softplus

from benchmarks.synthetic import two_tastes as make_two_tastes
from elasticrec.data.interactions import Pairs
from elasticrec.errors import InputError
from elasticrec.evaluation.ranking import evaluate
from elasticrec.training.bases import own_users
from elasticrec.training.config import TrainConfig
from elasticrec.training.loop import InterruptedTraining, Step, choose_temperature, train
from elasticrec.training.rows import take
from elasticrec.training.setup import random_table


@pytest.fixture(scope="module", name="two_tastes")
def many_with_two_tastes():
    """Enough users per item that no base can learn them by heart."""
    return make_two_tastes(300, 24, np.random.default_rng(0))


SMALL = TrainConfig(
    n_blocks=2, block_size=2, epochs=8, batch_size=128, negatives=16, learning_rate=0.05,
    cooccurrence=0.0, evaluate_every=1, metric="recall@4", l2=0.01, temperature=0.5,
)  # fmt: skip
BPR = replace(SMALL, base="mf", loss="bpr", negatives=2)


def stop_after(n):
    """A `stop` that says yes from its n-th question on."""
    asked = iter(range(n - 1))
    return lambda: next(asked, None) is None


def recall_of_the_rest(table, split, device="cpu"):
    """Recall with lists as long as what each user has not been shown of her taste."""
    metric = f"recall@{int(split.test.per_user.max())}"
    return evaluate(table, split, metrics=(metric,), device=device).metrics[metric]


def without_validation(split):
    nothing = Pairs(np.zeros(split.n_users + 1, np.int64), np.zeros(0, np.int32), split.n_items)
    return replace(split, validation=nothing)


@pytest.mark.parametrize("base", ["mf", "lightgcn", "history"])
@pytest.mark.parametrize("config", [SMALL, BPR], ids=["softmax", "bpr"])
@pytest.mark.parametrize("score", ["aligned", "tiled"])
@pytest.mark.parametrize("init", ["spectral", "random"])
def test_learns_two_tastes(two_tastes, base, config, score, init):
    epochs = 16 if base == "mf" and init == "random" else config.epochs
    config = replace(config, base=base, score=score, init=init, epochs=epochs)
    table = train(two_tastes, config, device="cpu").table
    assert (table.users is None) == (base == "history")
    assert recall_of_the_rest(table, two_tastes) >= 0.99  # of 300, a few may miss one item


@pytest.mark.parametrize("base", ["mf", "lightgcn", "history"])
def test_resumed_training_is_bit_equal(tmp_path, two_tastes, base):
    config = replace(SMALL, base=base, cooccurrence=0.3, diversity=1e-3, l2=1e-4, epochs=4)
    whole = train(two_tastes, config, device="cpu")
    checkpoint = tmp_path / "checkpoint.safetensors"
    for n_steps in (3, 7, 11):  # in the middle of epochs, three times over
        with pytest.raises(InterruptedTraining):
            train(
                two_tastes, config, device="cpu", checkpoint=checkpoint, resume=True,
                stop=stop_after(n_steps),
            )  # fmt: skip
    parts = train(two_tastes, config, device="cpu", checkpoint=checkpoint, resume=True)
    assert parts.table.fingerprint() == whole.table.fingerprint()
    values = [each["value"] for each in whole.progress.validations]
    assert [each["value"] for each in parts.progress.validations] == values
    passed = [each["seconds"] for each in parts.progress.validations]
    assert passed == sorted(passed)  # they go on counting, too
    assert round(parts.progress.seconds, 2) >= passed[-1] > 0


def test_equal_seeds_give_equal_tables_and_other_seeds_others(two_tastes):
    one, two, other = (
        train(two_tastes, replace(SMALL, epochs=3, seed=seed), device="cpu").table.fingerprint()
        for seed in (0, 0, 1)
    )
    assert one == two != other


def test_test_pairs_are_never_read(two_tastes):
    blind = replace(two_tastes, test=without_validation(two_tastes).validation)
    config = replace(SMALL, epochs=2)
    one, two = (train(split, config, device="cpu").table for split in (blind, two_tastes))
    assert one.fingerprint() == two.fingerprint()


def test_early_stopping_returns_the_best_epoch(two_tastes):
    config = replace(SMALL, epochs=40, patience=2, metric="recall@5", popularity_exponent=0.0)
    trained = train(two_tastes, config, device="cpu")
    progress = trained.progress
    values = {each["epoch"]: each["value"] for each in progress.validations}
    assert progress.stopped
    assert progress.epoch < 40
    assert progress.best == max(values.values()) == values[progress.best_epoch]
    found = evaluate(trained.table, two_tastes, part="validation", metrics=("recall@5",))
    assert found.metrics["recall@5"] == pytest.approx(progress.best, abs=1e-6)


def test_without_validation_the_last_epoch_counts(two_tastes):
    split = without_validation(two_tastes)
    trained = train(split, replace(SMALL, evaluate_every=2), device="cpu")
    assert trained.choices == []
    assert trained.values is None
    assert trained.table.popularity_exponent == 0
    assert trained.progress.best_epoch == 8
    rare = train(split, replace(SMALL, evaluate_every=8), device="cpu")
    assert rare.table.fingerprint() == trained.table.fingerprint()


def test_checkpoint_of_other_settings_or_data_is_refused(tmp_path, two_tastes):
    checkpoint = tmp_path / "checkpoint.safetensors"
    train(two_tastes, replace(SMALL, epochs=1), device="cpu", checkpoint=checkpoint)
    other = replace(SMALL, epochs=1, learning_rate=0.5)
    with pytest.raises(InputError, match=r"learning_rate=0\.05.*expected 0\.5"):
        train(two_tastes, other, device="cpu", checkpoint=checkpoint, resume=True)
    with pytest.raises(InputError, match="another split"):
        train(replace(two_tastes, name="else"), replace(SMALL, epochs=1), device="cpu",
              checkpoint=checkpoint, resume=True)  # fmt: skip


def test_diverging_training_says_so(two_tastes):
    def overflowing(vectors, batch):
        return -(1e3 * (vectors.users.asking - vectors.seen).square().sum()).exp()

    message = r"the loss is nan in epoch 2, .* lower learning_rate \(0\.05\) or diversity \(0\.1\)"
    with pytest.raises(InputError, match=message):
        train(two_tastes, replace(BPR, diversity=0.1), device="cpu", loss=overflowing)
    assert torch.get_float32_matmul_precision() == "highest"


def test_cosine_tables_hold_unit_vectors_and_the_exponent_chosen_on_validation(planted):
    config = replace(SMALL, n_blocks=4, epochs=4, metric="recall@20")
    trained = train(planted, config, device="cpu")
    table, choice = trained.table, trained.choices[-1]
    assert table.cosine
    np.testing.assert_allclose(np.linalg.norm(table.items, axis=1), 1, rtol=1e-5)
    assert table.popularity_exponent == float(choice.chosen)
    assert choice.default == "0"
    before, after = (
        evaluate(each, planted, part="validation", metrics=("recall@20",)).metrics["recall@20"]
        for each in (replace(table, popularity_exponent=0.0), table)
    )
    assert after == pytest.approx(before * (1 + choice.leads[choice.chosen][0]), abs=1e-6)


def test_a_given_exponent_is_kept_and_bpr_has_none(planted):
    trained = train(planted, replace(SMALL, epochs=1, popularity_exponent=0.3), device="cpu")
    assert (trained.table.popularity_exponent, trained.choices) == (0.3, [])
    plain = train(planted, replace(BPR, epochs=1), device="cpu")
    assert (plain.table.popularity_exponent, plain.table.cosine) == (0, False)


def test_a_temperature_that_ranks_clearly_better_is_chosen(planted):
    config = replace(
        SMALL, n_blocks=4, epochs=4, trial_share=1.0, metric="recall@20", temperature=0.01,
        temperatures=(0.005, 0.001, 0.2),
    )  # fmt: skip
    choice = choose_temperature(planted, config, device="cpu")
    assert choice.chosen == "0.2"
    assert choice.leads["0.2"][1] > 0
    assert {"0.01", "0.005"} <= set(choice.leads)
    again = choose_temperature(planted, config, device="cpu")
    assert again.leads == choice.leads


def test_settings_are_sized_for_the_data(two_tastes):
    config = replace(SMALL, batch_size=4096, negatives=4096, epochs=1)
    sized = config.sized(two_tastes.train)
    assert (sized.batch_size, sized.negatives) == (64, 12)
    trained = train(two_tastes, config)
    assert trained.progress.steps == -(-len(two_tastes.train) // 64)


def test_steps_are_reported_with_the_time_left(two_tastes, caplog):
    steps: list[Step] = []
    config = replace(SMALL, epochs=2)
    train(two_tastes, config, device="cpu", report=steps.append, report_seconds=0)
    assert [step.done for step in steps] == list(range(1, steps[-1].total + 1))
    assert {step.epoch for step in steps} == {1, 2}
    assert steps[0].best == ""
    assert steps[-1].best.startswith(f"{SMALL.metric} 0.") or steps[-1].best.endswith(" 1.0000")
    assert steps[-1].seconds_left == 0 < steps[0].seconds_left
    with caplog.at_level(logging.INFO):
        train(two_tastes, replace(config, epochs=1), device="cpu", report_seconds=0)
    assert any("epoch 1/1, step 3 of " in line and " left" in line for line in caplog.messages)


def test_a_step_reads_as_a_line():
    step = Step(1200, 4480, 9, 32, 7.98765, "recall@50 0.2351", 660.0)
    wanted = "epoch 9/32, step 1,200 of 4,480, loss 7.9877, best recall@50 0.2351, 11 min left"
    assert str(step) == wanted


@pytest.mark.gpu
@pytest.mark.parametrize(
    "config",
    [
        SMALL, replace(SMALL, cooccurrence=0.3), replace(SMALL, base="mf"),
        replace(SMALL, base="lightgcn"), BPR,
    ],
)  # fmt: skip
def test_a_gpu_learns_two_tastes(two_tastes, config):
    trained = train(two_tastes, config, device="cuda")
    assert recall_of_the_rest(trained.table, two_tastes, "cuda") >= 0.99


class Shared:
    """Items that share the rows of two small tables, as a base of someone else's may."""

    name = "shared"
    whole_users = False

    def __init__(self, train, config, generator):
        rows = {"users": train.n_users, "halves": 2, "places": (train.n_items + 1) // 2}
        self.tables = {
            name: random_table(n, config.dimensions, 1.0, generator) for name, n in rows.items()
        }
        numbers = torch.arange(train.n_items, device=generator.device)
        self.half, self.place = numbers // rows["places"], numbers % rows["places"]

    def forward(self, leaves, batch):
        items = self.items(leaves.whole("halves"), leaves.whole("places"))
        return own_users(leaves, batch), take(items, batch.items)

    def items(self, halves, places):
        return halves[self.half] + 0.1 * places[self.place]

    def final(self):
        return self.tables["users"], self.items(self.tables["halves"], self.tables["places"])


def test_a_base_and_a_loss_of_ones_own_learn_and_resume_bit_equal(tmp_path, two_tastes):
    asked = []

    def logistic(vectors, batch):
        asked.append(batch)
        seen = (vectors.users.asking * vectors.seen).sum(dim=1)
        unseen = (vectors.users.asking[:, None] * vectors.unseen).sum(dim=2)
        return softplus(-seen).mean() + softplus(unseen).mean()

    def run(**more):
        return train(two_tastes, BPR, device="cpu", make=Shared, loss=logistic, **more)

    whole = run()
    assert len(asked) == whole.progress.steps  # it was this loss that was minimised
    assert recall_of_the_rest(whole.table, two_tastes) >= 0.99
    checkpoint = tmp_path / "checkpoint.safetensors"
    with pytest.raises(InterruptedTraining):
        run(checkpoint=checkpoint, stop=stop_after(7))
    parts = run(checkpoint=checkpoint, resume=True)
    assert parts.table.fingerprint() == whole.table.fingerprint()
    softmax = train(two_tastes, SMALL, device="cpu", make=Shared)  # the exponent needs no `items`
    assert recall_of_the_rest(softmax.table, two_tastes) >= 0.99
