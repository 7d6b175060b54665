"""Settings: contradictions are refused, and small data take smaller batches and pools."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.data.interactions import Pairs
from elasticrec.errors import InputError
from elasticrec.training.config import TrainConfig


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"base": "svd"}, "base is 'svd', expected one of history, mf, lightgcn"),
        ({"loss": "bpr"}, r"cooccurrence is 0\.3 with loss='bpr'"),
        ({"metric": "recal@50"}, "recal@50"),
        ({"exponents": (0.1, 0.2)}, "expected to rise from 0"),
        ({"exponents": (0.0, 0.2, 0.1)}, "expected to rise from 0"),
        ({"popularity_exponent": -0.5}, r"popularity_exponent is -0\.5; expected -1, or 0 or"),
    ],
)
def test_contradictions_are_refused(wrong, message):
    with pytest.raises(InputError, match=message):
        TrainConfig(**wrong)


def pairs(n, n_items):
    return Pairs(np.array([0, n]), np.zeros(n, np.int32), n_items)


@settings(deadline=None, max_examples=50)
@given(n=st.integers(1, 2_000_000), batch_size=st.integers(1, 10_000))
def test_batches_are_the_largest_halves_with_fifty_steps(n, batch_size):
    size = TrainConfig(batch_size=batch_size).sized(pairs(n, 10)).batch_size
    halves = [batch_size >> k for k in range(15) if batch_size >> k >= 64] or [batch_size]
    enough = [half for half in halves if n >= 50 * half]
    assert size == max(enough, default=halves[-1])


def test_the_limits_of_a_batch_are_settings():
    config = TrainConfig(batch_size=256, fewest_steps=10)
    assert config.sized(pairs(1_280, 10)).batch_size == 128
    assert replace(config, fewest_steps=40).sized(pairs(1_280, 10)).batch_size == 64
    assert (
        replace(config, fewest_steps=40, smallest_batch=32).sized(pairs(1_280, 10)).batch_size == 32
    )


def test_a_softmax_tells_from_at_most_half_of_all_items():
    config = TrainConfig(negatives=4096)
    assert config.sized(pairs(5, 8828)).negatives == 4096
    assert config.sized(pairs(5, 901)).negatives == 450
    assert config.sized(pairs(5, 1)).negatives == 1
    bpr = replace(config, loss="bpr", cooccurrence=0.0, negatives=8)
    assert bpr.sized(pairs(5, 4)).negatives == 8  # of each pair's own


def test_sparse_data_are_visited_more_often():
    def epochs(n, n_items, **more):
        return TrainConfig(**more).sized(pairs(n, n_items)).epochs

    assert epochs(576_315, 8_828) == 10
    assert epochs(706_742, 40_981) == 20
    assert epochs(100_000, 50_000) == 20
    assert epochs(100_000, 10) == 10
    assert epochs(706_742, 40_981, visits=275) == 16
    assert epochs(706_742, 40_981, epochs=3) == 3
    assert epochs(100_000, 50_000, most_epochs=12) == 12
    assert epochs(100_000, 10, fewest_epochs=5) == 5
