"""Exact evaluation against hand-worked answers and a brute-force twin."""

from __future__ import annotations

from dataclasses import replace
from math import log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from elasticrec.data.interactions import Ids, Pairs
from elasticrec.data.split import Split
from elasticrec.errors import InputError
from elasticrec.evaluation.metrics import metrics_from_ranks
from elasticrec.evaluation.ranking import Evaluation, evaluate, evaluate_vectors, queries_of
from elasticrec.training.table import BlockTable
from tests.twins import (
    METRICS,
    coverage_of,
    diversity_of,
    gini_of,
    novelty_of,
    score_aligned_reference,
    score_tiled_reference,
    top_list,
)

torch = pytest.importorskip("torch")

NAMES = ["recall@1", "recall@3", "ndcg@3", "hit@2", "recall@50", "mrr@3", "map@4"]
LISTWISE = ["coverage@2", "coverage@50", "gini@3", "novelty@3", "diversity@3", "diversity@50"]
TOGETHER = {"coverage": coverage_of, "gini": gini_of}
PER_USER = {"novelty": novelty_of, "diversity": diversity_of}


def make_split(parts: np.ndarray) -> Split:
    """A split from a (U, V) table of 0 nothing, 1 train, 2 validation, 3 test."""
    U, V = parts.shape
    train, validation, test = (
        Pairs.from_arrays(*np.nonzero(parts == number), n_users=U, n_items=V)
        for number in (1, 2, 3)
    )
    return Split(train, validation, test, Ids.dense(U), Ids.dense(V))


def make_table(users: np.ndarray | None, blocks: np.ndarray, score: str = "aligned") -> BlockTable:
    base = "history" if users is None else "mf"
    return BlockTable(blocks.astype(np.float32), users, base=base, score=score)


def scored(scores: np.ndarray) -> BlockTable:
    """A table whose scores are the given ones: one dimension per user."""
    U, V = scores.shape
    return make_table(np.eye(U, dtype=np.float32), scores.T.reshape(V, 1, U))


SPLIT = make_split(
    np.array(
        [
            [1, 2, 3, 0, 3],  # items 2 and 4 are relevant to the first user
            [0, 3, 1, 0, 0],
            [1, 0, 0, 2, 0],  # nothing to test
        ]
    )
)
SCORES = np.array([[9, 8, 1, 5, 7], [2, 2, 9, 2, 1], [0, 0, 0, 0, 1.0]])


def test_known_answers_on_test() -> None:
    # First user, 0 and 1 hidden: lists 4, 3, 2. Second, 2 hidden: 0, 1, 3 by index, then 4.
    found = evaluate(scored(SCORES), SPLIT, metrics=NAMES, device="cpu")
    assert found.users.tolist() == [0, 1]
    assert found.n_users == 2
    np.testing.assert_allclose(found.per_user["recall@1"], [0.5, 0])
    np.testing.assert_allclose(found.per_user["recall@3"], [1, 1])
    np.testing.assert_allclose(found.per_user["hit@2"], [1, 1])
    ideal = 1 + 1 / log2(3)
    np.testing.assert_allclose(found.per_user["ndcg@3"], [1.5 / ideal, 1 / log2(3)])
    assert found.metrics["recall@1"] == 0.25
    assert str(found).startswith("recall@1 0.2500, recall@3 1.0000")


def test_coverage_counts_items_on_lists_of_its_length() -> None:
    found = evaluate(scored(SCORES), SPLIT, metrics=["coverage@1", "hit@2", "coverage@2"]).metrics
    assert list(found) == ["coverage@1", "hit@2", "coverage@2"]
    assert found["coverage@1"] == 2 / 5  # items 4 and 0
    assert found["coverage@2"] == 4 / 5  # 4, 3 and 0, 1


def test_validation_hides_train_alone() -> None:
    found = evaluate(scored(SCORES), SPLIT, part="validation", metrics=["recall@1"])
    assert found.users.tolist() == [0, 2]
    # The first user's validation item 1 is best once 0 is hidden; the third's, 3, is not.
    assert found.per_user["recall@1"].tolist() == [1, 0]


def test_some_users_in_any_order() -> None:
    found = evaluate(scored(SCORES), SPLIT, users=np.array([2, 1, 0]), metrics=NAMES)
    assert found.users.tolist() == [1, 0]
    np.testing.assert_allclose(found.per_user["recall@1"], [0, 0.5])


@st.composite
def worlds(draw) -> tuple[np.ndarray, Split]:
    U, V = draw(st.integers(1, 6)), draw(st.integers(1, 15))
    few = st.integers(-2, 2)  # so that many scores are equal
    scores = draw(arrays(np.float32, (U, V), elements=few))
    parts = draw(arrays(np.int8, (U, V), elements=st.integers(0, 3)))
    parts[draw(st.integers(0, U - 1)), draw(st.integers(0, V - 1))] = 3
    if draw(st.booleans()):
        parts[0] = np.where(parts[0] == 0, 1, parts[0])  # everything she has not tested is hidden
    return scores, make_split(parts)


def in_batches(table, split: Split, size: int | None, metrics) -> Evaluation:
    asked = queries_of(split)
    persons, items = replace(table, users=table.users[asked.users]).effective()
    return evaluate_vectors(persons, items, asked, metrics=metrics, batch_size=size, device="cpu")


@settings(deadline=None, max_examples=120)
@given(worlds(), st.integers(1, 7))
def test_agrees_with_brute_force(world, batch_size: int) -> None:
    scores, split = world
    found = in_batches(scored(scores), split, batch_size, [*NAMES, *LISTWISE])
    users = [u for u in range(split.n_users) if len(split.test.of(u))]
    hidden = [np.concatenate([split.train.of(u), split.validation.of(u)]) for u in users]
    lists = [top_list(scores[u], 50, seen) for u, seen in zip(users, hidden, strict=True)]
    assert found.users.tolist() == users
    for name in NAMES:
        kind, _, k = name.partition("@")
        expected = [
            METRICS[kind](int(k), ranked.tolist(), split.test.of(u).tolist())
            for u, ranked in zip(users, lists, strict=True)
        ]
        np.testing.assert_allclose(found.per_user[name], expected, rtol=1e-12)
        assert found.metrics[name] == pytest.approx(np.mean(expected))
    for name in LISTWISE:
        kind, _, k = name.partition("@")
        shown = [ranked[: int(k)].tolist() for ranked in lists]
        if kind in TOGETHER:
            assert found.metrics[name] == pytest.approx(TOGETHER[kind](shown, split.train))
        else:
            expected = [PER_USER[kind](listed, split.train) for listed in shown]
            np.testing.assert_allclose(found.per_user[name], expected, rtol=1e-12, atol=1e-12)


@settings(deadline=None, max_examples=60)
@given(worlds())
def test_counting_ranks_agrees_with_making_lists(world) -> None:
    """Rank = items that score higher, plus equal ones of lower index: what an estimator counts."""
    scores, split = world
    asked = queries_of(split)
    ranks = []
    for row, user in enumerate(asked.users):
        open_ = np.setdiff1d(np.arange(split.n_items), asked.seen.of(row))
        for item in asked.relevant.of(row):
            s = scores[user]
            higher = (s[open_] > s[item]) | ((s[open_] == s[item]) & (open_ < item))
            ranks.append(higher.sum())
    counted = metrics_from_ranks(np.array(ranks), asked.relevant.indptr, NAMES)
    listed = evaluate(scored(scores), split, metrics=NAMES).per_user
    for name in NAMES:
        np.testing.assert_array_equal(counted[name], listed[name])


def random_world(U: int = 60, V: int = 300) -> tuple[np.random.Generator, Split]:
    rng = np.random.default_rng(7)
    parts = rng.choice(4, size=(U, V), p=[0.85, 0.1, 0.02, 0.03])
    return rng, make_split(parts)


def test_batch_size_changes_nothing() -> None:
    rng, split = random_world()
    table = make_table(rng.normal(size=(60, 16)).astype(np.float32), rng.normal(size=(300, 2, 8)))
    runs = [in_batches(table, split, size, NAMES) for size in (1, 7, 60, 999, None)]
    for run in runs[1:]:
        assert run.metrics == runs[0].metrics
        for name in NAMES:
            np.testing.assert_array_equal(run.per_user[name], runs[0].per_user[name])


@pytest.mark.parametrize(
    ("score", "reference"),
    [("aligned", score_aligned_reference), ("tiled", score_tiled_reference)],
)
def test_both_scores_are_ranked_as_their_twins_say(score: str, reference) -> None:
    rng, split = random_world(8, 20)
    users = rng.integers(-3, 4, size=(8, 6)).astype(np.float32)
    blocks = rng.integers(-3, 4, size=(20, 3, 2))
    twin = np.array([[reference(u, e, range(3), 3) for e in blocks] for u in users])
    expected = evaluate(scored(twin), split, metrics=NAMES)
    found = evaluate(make_table(users, blocks, score), split, metrics=NAMES)
    assert found.metrics == expected.metrics


def test_a_table_without_users_folds_in_from_train() -> None:
    # Items along two axes: whoever took item 0 in train should be shown item 1, not 2.
    blocks = np.array([[[1, 0]], [[1, 0.1]], [[0, 1]], [[0.1, 1]]])
    split = make_split(np.array([[1, 3, 2, 0], [0, 0, 1, 3]]))
    found = evaluate(make_table(None, blocks), split, metrics=["recall@1"])
    assert found.metrics["recall@1"] == 1.0


def test_tensors_and_read_only_arrays_are_accepted() -> None:
    asked = queries_of(SPLIT)
    items = SCORES.T.astype(np.float32)
    items.flags.writeable = False
    persons = torch.eye(3)[asked.users]
    found = evaluate_vectors(persons, items, asked, metrics=NAMES)
    assert found.metrics == evaluate(scored(SCORES), SPLIT, metrics=NAMES).metrics


def test_bad_input_is_refused() -> None:
    with pytest.raises(InputError, match="'train'; expected test or validation"):
        evaluate(scored(SCORES), SPLIT, part="train")
    with pytest.raises(InputError, match="holds no item of any user asked for"):
        evaluate(scored(SCORES), SPLIT, users=np.array([2]))
    with pytest.raises(InputError, match="item vectors hold NaN"):
        evaluate(scored(np.full_like(SCORES, np.nan)), SPLIT)
    with pytest.raises(InputError, match="'tpu' is not available here; expected auto, cpu or cuda"):
        evaluate(scored(SCORES), SPLIT, device="tpu")


@pytest.mark.gpu
def test_gpu_agrees_with_cpu() -> None:
    rng, split = random_world(200, 3000)
    table = make_table(  # small integers: every product is exact, and many are equal
        rng.integers(-2, 3, size=(200, 16)).astype(np.float32),
        rng.integers(-2, 3, size=(3000, 2, 8)),
    )
    on_cpu = evaluate(table, split, metrics=NAMES, device="cpu")
    on_gpu = evaluate(table, split, metrics=NAMES, device="cuda")
    assert on_gpu.metrics == on_cpu.metrics
    for name in NAMES:
        np.testing.assert_array_equal(on_gpu.per_user[name], on_cpu.per_user[name])
