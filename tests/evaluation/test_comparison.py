"""The paired t-test, and two models on the same users, matched by original ids."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from elasticrec.data.interactions import Ids
from elasticrec.data.split import Split
from elasticrec.errors import InputError
from elasticrec.evaluation.choosing import compare, paired_t_test
from elasticrec.evaluation.ranking import Evaluation, evaluate
from elasticrec.training.table import BlockTable


def test_known_answer() -> None:
    # Differences 1, 2, 3: mean 2, deviation 1, t = 2 sqrt(3); with 2 degrees of freedom
    # P(|T| >= t) = 1 - t / sqrt(t^2 + 2) = 1 - sqrt(12 / 14).
    found = paired_t_test(np.array([2.0, 4.0, 6.0]), np.array([1.0, 2.0, 3.0]))
    assert (found.difference, found.deviation, found.n) == (2.0, 1.0, 3)
    assert found.t == pytest.approx(2 * np.sqrt(3))
    assert found.p == pytest.approx(1 - np.sqrt(12 / 14))


def test_agrees_with_scipy() -> None:
    from scipy.stats import ttest_rel

    rng = np.random.default_rng(0)
    a = rng.normal(size=200)
    b = a + rng.normal(0.05, 0.5, size=200)
    expected = ttest_rel(a, b)
    found = paired_t_test(a, b)
    assert found.t == pytest.approx(expected.statistic)
    assert found.p == pytest.approx(expected.pvalue)


def test_swapping_the_two_turns_the_sign() -> None:
    a, b = np.array([0.1, 0.4, 0.2, 0.9]), np.array([0.2, 0.1, 0.3, 0.4])
    one, other = paired_t_test(a, b), paired_t_test(b, a)
    assert (one.difference, one.t, one.p) == (-other.difference, -other.t, other.p)


def test_no_spread_is_a_limit_not_a_warning() -> None:
    same = np.array([0.25, 0.5, 1.0])
    assert paired_t_test(same, same).p == 1.0
    assert paired_t_test(same, same).t == 0.0
    shifted = paired_t_test(same, same + 1)
    assert (shifted.difference, shifted.t, shifted.p) == (-1.0, -np.inf, 0.0)


@pytest.mark.parametrize("lengths", [(3, 4), (1, 1), (0, 0)])
def test_other_or_too_few_users_are_refused(lengths: tuple[int, int]) -> None:
    with pytest.raises(InputError, match="same users in both, at least two"):
        paired_t_test(np.zeros(lengths[0]), np.zeros(lengths[1]))


pytest.importorskip("torch")

NAMES = ("recall@5", "ndcg@5")


def random_table(split: Split, seed: int) -> BlockTable:
    rng = np.random.default_rng(seed)
    users = rng.standard_normal((split.n_users, 4), dtype=np.float32)
    blocks = rng.standard_normal((split.n_items, 2, 2), dtype=np.float32)
    return BlockTable(blocks, users, base="mf")


def measured(table: BlockTable, split: Split) -> Evaluation:
    return evaluate(table, split, metrics=NAMES, device="cpu")


def test_same_numbering(planted: Split) -> None:
    a, b = (measured(random_table(planted, seed), planted) for seed in (1, 2))
    tests = compare(a, b, (planted, planted))
    assert list(tests) == list(NAMES)
    for name in NAMES:
        assert tests[name] == paired_t_test(a.per_user[name], b.per_user[name])
        assert tests[name].difference == pytest.approx(a.metrics[name] - b.metrics[name])


def test_items_numbered_differently(planted: Split) -> None:
    order = np.random.default_rng(0).permutation(planted.n_items)
    a, b = random_table(planted, 1), random_table(planted, 2)
    expected = compare(measured(a, planted), measured(b, planted), (planted, planted))
    turned = planted.renumbered(order)
    found = compare(
        measured(a, planted),
        measured(replace(b, blocks=b.blocks[order]), turned),
        (planted, turned),
    )
    assert found == expected


def test_other_held_out_items_are_refused(planted: Split) -> None:
    swapped = replace(planted, test=planted.validation, validation=planted.test)
    table = random_table(planted, 1)
    with pytest.raises(InputError, match="expected models of the same split"):
        compare(measured(table, planted), measured(table, swapped), (planted, swapped))


def test_other_users_are_refused(planted: Split) -> None:
    renamed = replace(planted, user_ids=Ids.of(f"u{i}" for i in range(planted.n_users)))
    table = random_table(planted, 1)
    with pytest.raises(InputError, match="expected models of the same split"):
        compare(measured(table, planted), measured(table, renamed), (planted, renamed))
