from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.errors import InputError
from elasticrec.serve.steps import DEFAULT_STEPS, Steps, parse_steps


def test_default_steps_lose_little():
    assert DEFAULT_STEPS[0] == 10_000
    assert {500_000, 1_000_000, 5_000_000, 10_000_000, 25_000_000} <= set(DEFAULT_STEPS)
    assert max(b / a for a, b in pairwise(DEFAULT_STEPS)) < 1.17


@given(
    sizes=st.lists(st.integers(1, 10**9), min_size=1, max_size=30, unique=True).map(sorted),
    budget=st.integers(1, 10**9),
)
@settings(deadline=None, max_examples=200)
def test_a_budget_gets_the_largest_step_within_it(sizes, budget):
    steps = Steps(tuple(sizes))
    within = [size for size in sizes if size <= budget]
    assert steps.below(budget) == (max(within) if within else None)


def test_a_model_has_the_steps_from_its_least_to_its_full_size():
    steps = Steps.of((10, 20, 30, 40, 50), least_bytes=15, full_bytes=31)
    assert steps.sizes == (20, 30, 40)
    assert steps.before(20) is None
    assert steps.before(40) == 30
    assert Steps.of((10, 20), least_bytes=15, full_bytes=99).sizes == (20,)


def test_steps_below_every_bundle_are_refused():
    with pytest.raises(InputError, match="the smallest bundle of this model takes 50 bytes"):
        Steps.of((10, 20), least_bytes=50, full_bytes=99)


def test_steps_are_parsed_in_any_order():
    assert parse_steps(["1MB", "500KB", "1MB"]) == (500_000, 1_000_000)
