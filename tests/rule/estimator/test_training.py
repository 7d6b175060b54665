from dataclasses import replace

import numpy as np
import pytest
import torch

from elasticrec.errors import InputError
from elasticrec.rule.estimator.config import EstimatorConfig, SamplesConfig
from elasticrec.rule.estimator.ledger import Samples
from elasticrec.rule.estimator.training import Settings, agreement, fit, two_folds, within_budgets
from elasticrec.space.composition import F32

G, N = 4, 3
QUICK = EstimatorConfig(
    widths=(8,), learning_rates=(0.02,), l2s=(0.0,), batch_size=64, steps=250, max_rounds=2
)


def measured(quality, n, seed):
    """Random compositions whose quality is a known function of which blocks are kept."""
    rng = np.random.default_rng(seed)
    kept = rng.random((n, G, N)) < 0.5
    neighbours = np.zeros((n, G), dtype=np.uint8)
    return Samples((kept * F32).astype(np.uint8), neighbours, quality(kept.astype(float)))


def additive(kept):
    return 0.2 + 0.01 * (kept * np.arange(1, G * N + 1).reshape(G, N)).sum(axis=(1, 2))


def crowding(kept):
    """Groups help, but the more the others keep, the less: products of pairs of groups."""
    sums = kept.sum(axis=2) * np.arange(1, G + 1)
    return 0.01 * (sums.sum(axis=1) ** 2 - (sums**2).sum(axis=1))


@pytest.mark.parametrize("kind", ["fm", "dnn"])
def test_an_additive_quality_is_learned(kind):
    fitted = fit(measured(additive, 1000, 0), replace(QUICK, kind=kind))
    unseen = measured(additive, 300, 1)
    found = agreement(fitted.estimator, unseen)
    assert found.n == 300
    assert found.rmse < 0.05 * unseen.values.std()
    assert found.spearman > 0.99


def test_pairs_of_groups_are_learned_without_the_linear_term():
    fitted = fit(measured(crowding, 1500, 0), replace(QUICK, linear=False, steps=500))
    assert "linear" not in fitted.estimator.weights
    unseen = measured(crowding, 300, 1)
    assert agreement(fitted.estimator, unseen).rmse < 0.1 * unseen.values.std()


def test_noise_is_not_foreseen_by_the_two_fold_check():
    rng = np.random.default_rng(3)
    noise = measured(lambda kept: rng.random(len(kept)), 400, 0)
    trial = fit(noise, replace(QUICK, kind="dnn", widths=(64,))).chosen
    assert abs(trial.spearman) < 0.2  # each half knows nothing of the other
    assert trial.rmse > 0.9 * noise.values.std()


def test_each_half_is_guessed_by_the_other():
    bits = torch.zeros(6, G, N)
    targets = torch.tensor([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    guessed = two_folds(bits, targets, replace(QUICK, steps=300), Settings(4, 0.05, 0.0))
    order = np.random.default_rng(QUICK.seed).permutation(6)
    for half, other in ((order[0::2], order[1::2]), (order[1::2], order[0::2])):
        np.testing.assert_allclose(guessed[half], targets[other].mean(), atol=0.05)


def test_settings_are_tried_one_after_the_other_and_the_best_is_taken():
    config = replace(QUICK, widths=(4, 8), learning_rates=(0.02, 1e-6), l2s=(0.0, 10.0), steps=40)
    fitted = fit(measured(additive, 300, 0), config)
    tried = [trial.settings for trial in fitted.trials]
    width = min(fitted.trials[:2], key=lambda trial: trial.rmse).settings.width
    assert tried == [
        Settings(4, 0.02, 0.0),
        Settings(8, 0.02, 0.0),
        Settings(width, 1e-6, 0.0),
        Settings(width, 0.02, 10.0),
    ]
    assert fitted.chosen.settings == Settings(width, 0.02, 0.0)
    assert fitted.estimator.weights["code"].shape == (N, width)
    assert fitted.estimator.about["two_fold"]["settings"]["width"] == width


def test_the_same_seed_gives_the_same_estimator():
    samples = measured(additive, 200, 0)
    first, again = (fit(samples, replace(QUICK, steps=20)).estimator for _ in range(2))
    other = fit(samples, replace(QUICK, steps=20, seed=1)).estimator
    assert first.fingerprint() == again.fingerprint() != other.fingerprint()


def test_a_constant_quality_is_that_constant():
    samples = measured(lambda kept: np.full(len(kept), 0.25), 50, 0)
    estimator = fit(samples, replace(QUICK, steps=20)).estimator
    assert (estimator.predict(samples.depths, samples.neighbours) == 0.25).all()


def test_agreement_is_told_budget_by_budget():
    estimator = fit(measured(additive, 300, 0), replace(QUICK, steps=20)).estimator
    held_out = {"5 MB": measured(additive, 40, 1), "10 MB": measured(additive, 60, 2)}
    found = within_budgets(estimator, held_out)
    assert {name: each.n for name, each in found.items()} == {"5 MB": 40, "10 MB": 60}
    assert found["5 MB"] == agreement(estimator, held_out["5 MB"])


def test_too_few_samples_and_senseless_settings_are_refused():
    with pytest.raises(InputError, match="3 samples"):
        fit(measured(additive, 3, 0), QUICK)
    for wrong in (
        {"kind": "cnn"},
        {"widths": ()},
        {"learning_rates": (0.0,)},
        {"l2s": (-1.0,)},
        {"steps": 0},
    ):
        with pytest.raises(InputError):
            EstimatorConfig(**wrong)
    for wrong in ({"n_samples": 0}, {"n_users": 0}, {"metric": "auc"}, {"held_out": (0.0,)}):
        with pytest.raises(InputError):
            SamplesConfig(**wrong)


def test_the_papers_estimator_has_eq_5s_form_and_its_width():
    config = EstimatorConfig.printed(64)
    assert (config.kind, config.linear, config.widths) == ("fm", False, (64,))


@pytest.mark.gpu
def test_a_gpu_learns_the_same():
    fitted = fit(measured(additive, 1000, 0), QUICK, device="cuda")
    unseen = measured(additive, 300, 1)
    assert agreement(fitted.estimator, unseen).rmse < 0.05 * unseen.values.std()
