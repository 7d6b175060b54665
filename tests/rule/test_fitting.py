"""Eq. 6: fitting finds qualities that are known."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from elasticrec.errors import InputError
from elasticrec.rule.config import EstimatorConfig
from elasticrec.rule.estimator import (
    Settings,
    _batches,
    agreement,
    choose_settings,
    fit,
    train_round,
)

QUICK = EstimatorConfig(widths=(8,), learning_rates=(0.02,), l2s=(0.0,), steps=300, max_rounds=2)
WEIGHTS = np.random.default_rng(9).normal(size=(6, 5))


def masks(n, seed):
    return np.random.default_rng(seed).integers(0, 2, size=(n, 6, 5)).astype(np.float32)


def additive(bits):
    """A quality that a linear term tells exactly."""
    return 0.2 + 0.01 * (bits * WEIGHTS).sum(axis=(1, 2))


def paired(bits):
    """A quality of pairs of groups: what Eq. 5 is made for."""
    x = bits @ np.array([1.0, 0.5, 0.2, 0.1, 0.0]) + 0.1
    return 0.01 * (x.sum(axis=1) ** 2 - (x * x).sum(axis=1)) / 2


@pytest.mark.parametrize(
    ("quality", "config"),
    [
        (additive, QUICK),
        (paired, replace(QUICK, linear=False)),
        (additive, replace(QUICK, kind="dnn")),
    ],
)
def test_unseen_compositions_are_estimated(quality, config):
    estimator = fit(masks(600, 0), quality(masks(600, 0)), config)
    unseen = masks(200, 1)
    found = agreement(estimator.predict(unseen), quality(unseen))
    assert found["rmse"] < 0.15 * quality(unseen).std()
    assert found["spearman"] > 0.98


def test_the_two_fold_check_chooses_the_settings_of_least_error():
    config = replace(QUICK, widths=(8, 4), learning_rates=(0.02, 1e-6), l2s=(0.0, 10.0), steps=120)
    estimator = fit(masks(300, 0), additive(masks(300, 0)), config)
    tried, chosen = estimator.about["two_fold"], estimator.about["chosen"]
    assert (chosen["learning_rate"], chosen["l2"]) == (0.02, 0.0)
    assert chosen["rmse"] == min(trial["rmse"] for trial in tried)
    assert len(tried) == 4
    assert estimator.weights["code"].shape == (5, chosen["width"])


def test_settings_are_tried_one_after_the_other_with_the_best_so_far():
    asked = []

    def error(settings):
        asked.append(settings)
        return abs(settings.width - 32) + abs(settings.learning_rate - 3) + settings.l2

    config = EstimatorConfig(widths=(8, 32, 64), learning_rates=(1.0, 3.0), l2s=(0.5, 0.25))
    assert choose_settings(config, error) == Settings(32, 3.0, 0.25)
    assert set(asked) == {
        *(Settings(width, 1.0, 0.5) for width in (8, 32, 64)),
        Settings(32, 3.0, 0.5),
        Settings(32, 3.0, 0.25),
    }


def test_the_loss_is_the_mean_squared_error():
    """Eq. 6: weights that do not move keep the error that they have."""
    X, y = torch.ones((4, 1, 1)), torch.tensor([1.0, 1.0, 3.0, 3.0])
    weights = {
        "group": torch.zeros((1, 1)), "code": torch.zeros((1, 1)), "ffn": torch.zeros((1, 1)),
        "ffn_bias": torch.zeros(1), "out": torch.zeros(1), "bias": torch.tensor(0.0),
    }  # fmt: skip
    for value in weights.values():
        value.requires_grad_()
    config = replace(QUICK, batch_size=4, steps=10)
    loss = train_round(weights, X, y, config, Settings(1, 0.0, 0.0), torch.Generator())
    assert loss == pytest.approx((1 + 1 + 9 + 9) / 4)


def test_every_sample_comes_once_before_any_comes_again():
    batches = list(_batches(10, 4, 5, torch.Generator().manual_seed(0)))
    assert [len(some) for some in batches] == [4, 4, 2, 4, 4]
    assert sorted(torch.cat(batches[:3]).tolist()) == list(range(10))


def test_the_seed_decides():
    samples = masks(200, 0), additive(masks(200, 0))
    first, again, other = (
        fit(*samples, replace(QUICK, steps=20, seed=seed)).weights["code"] for seed in (0, 0, 1)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_constant_quality_is_that_constant():
    estimator = fit(masks(50, 0), np.full(50, 0.25), replace(QUICK, steps=20))
    assert (estimator.predict(masks(50, 1)) == 0.25).all()


def test_too_few_samples_are_refused():
    with pytest.raises(InputError, match="3 samples, expected at least 4"):
        fit(masks(3, 0), np.zeros(3), QUICK)


def test_rank_correlation_of_known_orders():
    def rank(a, b):
        return agreement(np.array(a), np.array(b))["spearman"]

    assert rank([1, 2, 3, 4], [10, 20, 30, 40]) == pytest.approx(1)
    assert rank([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    assert rank([1, 2, 3, 4, 5], [5, 6, 7, 8, 7]) == pytest.approx(0.8208, abs=1e-4)
    assert np.isnan(rank([1, 2, 3], [0, 0, 0]))
    found = agreement(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    assert found == {"n": 2, "rmse": pytest.approx(np.sqrt(2)), "spearman": pytest.approx(1.0)}
