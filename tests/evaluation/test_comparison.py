"""Two models on the same users: matched by original ids, refused where they do not match."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from elasticrec.data.interactions import Ids
from elasticrec.data.split import Split
from elasticrec.errors import InputError
from elasticrec.evaluation.comparison import compare
from elasticrec.evaluation.ranking import Evaluation, evaluate
from elasticrec.evaluation.significance import paired_t_test
from elasticrec.training.table import BlockTable

pytest.importorskip("torch")

NAMES = ("recall@5", "ndcg@5")


def random_table(split: Split, seed: int) -> BlockTable:
    rng = np.random.default_rng(seed)
    users = rng.standard_normal((split.n_users, 4), dtype=np.float32)
    blocks = rng.standard_normal((split.n_items, 2, 2), dtype=np.float32)
    return BlockTable(blocks, users, base="mf")


def measured(table: BlockTable, split: Split) -> Evaluation:
    return evaluate(table, split, metrics=NAMES, keep_per_user=True, device="cpu")


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
    found = compare(measured(a, planted), measured(b.renumbered(order), turned), (planted, turned))
    assert found == expected


def test_other_held_out_items_are_refused(planted: Split) -> None:
    swapped = replace(planted, test=planted.validation, validation=planted.test)
    table = random_table(planted, 1)
    with pytest.raises(InputError, match="expected models of the same split"):
        compare(measured(table, planted), measured(table, swapped), (planted, swapped))


def test_other_users_are_refused(planted: Split) -> None:
    renamed = replace(planted, user_ids=Ids.of(f"u{i}" for i in range(planted.n_users)))
    table = random_table(planted, 1)
    with pytest.raises(InputError, match="not all the same; expected models of the same split"):
        compare(measured(table, planted), measured(table, renamed), (planted, renamed))


def test_per_user_values_are_needed(planted: Split) -> None:
    table = random_table(planted, 1)
    without = evaluate(table, planted, metrics=NAMES, device="cpu")
    with pytest.raises(InputError, match="keep_per_user=True"):
        compare(without, measured(table, planted), (planted, planted))
