from functools import partial

import numpy as np
import pytest

from elasticrec.errors import InputError
from elasticrec.evaluation import choosing
from elasticrec.evaluation.choosing import FEW_PERSONS, outward

choose = partial(choosing.choose, doubt=0.025)


def persons(mean: float, noise: float, seed: int, n: int = 6_000) -> np.ndarray:
    """(2, n) values of persons at two sizes."""
    rng = np.random.default_rng(seed)
    return mean + noise * rng.normal(size=(2, n))


def test_a_clear_lead_is_taken() -> None:
    base = persons(0.2, 0.1, 0)
    values = {"old": base, "new": base + 0.01, "worse": base - 0.02}
    found = choose("lead", values, "old")
    assert found.chosen == "new"
    mean, low = found.leads["new"]
    assert mean == pytest.approx(0.05, rel=0.02)
    assert low > 0
    assert "new, +5.0%" in str(found)


def test_leads_that_chance_explains_are_not_taken() -> None:
    taken = [
        choose("x", {"a": persons(0.2, 0.1, s, 400), "b": persons(0.2, 0.1, s + 99, 400)}, "a")
        for s in range(40)
    ]
    assert sum(choice.chosen == "b" for choice in taken) <= 3


@pytest.mark.parametrize(("rivals", "z"), [(1, 1.959964), (2, 2.241403), (5, 2.575829)])
def test_the_interval_widens_with_the_number_of_candidates(rivals: int, z: float) -> None:
    base = np.ones((1, 100))
    other = base + 0.2 * (np.arange(100) % 2)  # leads of 0 and 20 %: deviation 0.1, error 0.1/√99
    values = {"a": base, **{f"b{n}": other for n in range(rivals)}}
    mean, low = choose("x", values, "a").leads["b0"]
    assert mean == pytest.approx(0.1)
    assert low == pytest.approx(0.1 - z * 0.1 / np.sqrt(99), abs=1e-6)


def test_sizes_count_alike_whatever_their_means() -> None:
    base = np.stack([np.full(100, 0.1), np.full(100, 1.0)])
    other = base + np.array([[0.01], [-0.05]])  # +10 % and -5 %
    assert choose("x", {"a": base, "b": other}, "a").leads["b"][0] == pytest.approx(0.025)


def test_few_persons_are_said() -> None:
    values = {"a": persons(0.2, 0.1, 0, FEW_PERSONS - 1)}
    assert "few persons" in str(choose("x", values, "a"))
    assert choose("x", values, "a").as_dict()["few"]


def test_an_unknown_default_is_refused() -> None:
    with pytest.raises(InputError, match="expected one of a"):
        choose("x", {"a": persons(0.2, 0.1, 0)}, "b")


@pytest.mark.parametrize(
    ("best", "tried"),
    [
        (8, ["8", "16", "4"]),
        (2, ["8", "16", "4", "2", "1"]),
        (99, ["8", "16", "32", "4"]),
        (0, ["8", "16", "4", "2", "1"]),
    ],
)
def test_candidates_are_measured_outwards_until_one_is_no_better(best, tried) -> None:
    asked = []

    def measure(value: float) -> np.ndarray:
        asked.append(f"{value:g}")
        return np.full((2, 3), 1 / (1 + abs(np.log2(max(best, 1) / value)))) * [[1.0], [10.0]]

    found = outward(measure, 8, (1, 2, 4, 16, 32))
    assert list(found) == asked == tried


def test_a_candidate_is_judged_by_its_mean_relative_lead_over_sizes() -> None:
    values = {1.0: [1.0, 10.0], 2.0: [1.2, 9.0], 3.0: [1.2, 9.1], 4.0: [9.0, 90.0]}
    found = outward(lambda x: np.array(values[x])[:, None], 1.0, (2.0, 3.0, 4.0))
    assert list(found) == ["1", "2", "3", "4"]
    values[2.0] = [1.05, 9.0]
    assert list(outward(lambda x: np.array(values[x])[:, None], 1.0, (2.0, 3.0, 4.0))) == ["1", "2"]
