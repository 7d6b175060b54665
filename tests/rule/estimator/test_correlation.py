import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from elasticrec.rule.estimator.correlation import average_ranks, rmse, spearman


def test_equal_values_share_the_mean_of_their_places():
    assert average_ranks(np.array([3.0, 1.0, 3.0, 2.0])).tolist() == [2.5, 0, 2.5, 1]


def test_order_is_all_that_counts():
    x = np.array([1.0, 2.0, 3.0, 4.0])
    assert spearman(x, np.exp(x)) == pytest.approx(1)
    assert spearman(x, -(x**3)) == pytest.approx(-1)
    assert np.isnan(spearman(x, np.ones(4)))


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 2**32), n=st.integers(3, 40))
def test_it_is_scipys(seed, n):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(6, size=(2, n)).astype(float)
    if len(set(a)) > 1 and len(set(b)) > 1:
        assert spearman(a, b) == pytest.approx(spearmanr(a, b).statistic)


def test_the_root_mean_squared_error():
    assert rmse(np.array([1.0, 2.0]), np.array([4.0, -2.0])) == pytest.approx(12.5**0.5)
