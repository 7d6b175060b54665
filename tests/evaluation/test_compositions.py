from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.blocks.scoring import score_items
from elasticrec.blocks.table import BlockTable
from elasticrec.data.errors import InputError
from elasticrec.data.ids import Ids
from elasticrec.data.interactions import Pairs
from elasticrec.data.split import Split
from elasticrec.evaluation.compositions import (
    STRETCH,
    PlainEvaluator,
    count_above,
    mean_metric,
    validation_questions,
)
from elasticrec.evaluation.metrics import METRICS, NOT_LISTED, parse_metric
from elasticrec.evaluation.questions import Questions, evened
from elasticrec.evaluation.rows import BlockScores
from elasticrec.evaluation.toplist import top_list
from elasticrec.space.composition import F32


def small_world(rng, *, n_users=7, n_items=40, n_blocks=3, d=2, n_groups=4, largest=2):
    """Blocks and users of small whole numbers, so that sums are exact and many scores are equal."""
    blocks = rng.integers(-largest, largest + 1, (n_items, n_blocks, d)).astype(np.float32)
    users = rng.integers(-largest, largest + 1, (n_users, n_blocks * d)).astype(np.float32)
    inner = np.sort(rng.choice(np.arange(1, n_items), size=n_groups - 1, replace=False))
    bounds = np.concatenate(([0], inner, [n_items]))
    parts = rng.choice(3, size=(n_users, n_items), p=(0.6, 0.25, 0.15))
    parts[:, 0] = 2  # everyone has a relevant item
    seen, relevant = (
        Pairs.from_arrays(*np.nonzero(parts == part), n_users=n_users, n_items=n_items)
        for part in (1, 2)
    )
    return blocks, users, bounds, Questions(np.arange(n_users), seen, relevant)


def slow_metric(blocks, users, bounds, asked, depths, metric, *, score="aligned", scaled=False):
    """The metric by its definition: score all items, sort them, look at the first K."""
    kept = np.repeat(depths > 0, np.diff(bounds), axis=0)  # (V, N)
    scores = score_items(users, blocks, score=score, kept=kept, scaled=scaled)
    scores[:, ~kept.any(axis=1)] = -np.inf
    name, k = parse_metric(metric).name, parse_metric(metric).k
    values = []
    for u in range(len(users)):
        ranked = top_list(scores[u], k, seen=asked.seen.of(u)).tolist()
        values.append(METRICS[name](k, ranked, asked.relevant.of(u).tolist()))
    return np.mean(values)


def masks(rng, n, n_groups, n_blocks):
    depths = (rng.random((n, n_groups, n_blocks)) < 0.5).astype(np.uint8) * F32
    return depths, np.zeros((n, n_groups), dtype=np.uint8)


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**32),
    metric=st.sampled_from(["recall@5", "ndcg@7", "hit@1", "recall@100"]),
    score=st.sampled_from(["aligned", "tiled"]),
    n_items=st.sampled_from([40, STRETCH, STRETCH + 1, 3 * STRETCH + 5]),
)
def test_the_plain_evaluator_agrees_with_the_definition(seed, metric, score, n_items):
    rng = np.random.default_rng(seed)
    blocks, users, bounds, asked = small_world(rng, n_items=n_items)
    depths, neighbours = masks(rng, 3, 4, 3)  # some groups keep nothing
    evaluator = PlainEvaluator(BlockScores(blocks, users, bounds, score=score), asked, metric)
    expected = [
        slow_metric(blocks, users, bounds, asked, each, metric, score=score) for each in depths
    ]
    assert evaluator.evaluate(depths, neighbours) == pytest.approx(expected, abs=1e-12)


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**32), score=st.sampled_from(["aligned", "tiled"]))
def test_the_width_correction_is_that_of_eq_2(seed, score):
    rng = np.random.default_rng(seed)
    blocks, users, bounds, asked = small_world(rng, n_blocks=4)
    depths, neighbours = masks(rng, 2, 4, 4)
    depths[:, :, 3] = np.where((depths[:, :, :3] > 0).sum(2) == 2, 0, depths[:, :, 3])
    depths[:, :, 0] = np.where((depths > 0).sum(2) == 3, 0, depths[:, :, 0])  # widths 0, 1, 2, 4
    scores = BlockScores(blocks, users, bounds, score=score, width_correction=True)
    expected = [
        slow_metric(blocks, users, bounds, asked, each, "recall@5", score=score, scaled=True)
        for each in depths
    ]
    found = PlainEvaluator(scores, asked, "recall@5").evaluate(depths, neighbours)
    assert found == pytest.approx(expected, abs=1e-12)


def test_a_known_rank_under_the_width_correction():
    # One user, two groups of one item each: the narrow item scores 3, the wide one 2 + 2.
    blocks = np.array([[[3.0], [0.0]], [[2.0], [2.0]]], dtype=np.float32)
    asked = Questions(
        np.arange(1),
        Pairs(np.array([0, 0]), np.zeros(0, np.int32), 2),
        Pairs(np.array([0, 1]), np.array([0], np.int32), 2),
    )
    depths = np.array([[[F32, 0], [F32, F32]]], dtype=np.uint8)
    neighbours = np.zeros((1, 2), dtype=np.uint8)
    values = {
        corrected: PlainEvaluator(
            BlockScores(blocks, np.ones((1, 2)), np.array([0, 1, 2]), width_correction=corrected),
            asked,
            "hit@1",
        ).evaluate(depths, neighbours)[0]
        for corrected in (False, True)
    }
    assert values == {False: 0.0, True: 1.0}


def test_counting_settles_low_pairs_by_the_bound_and_high_ones_exactly():
    scores = torch.arange(10 * STRETCH, dtype=torch.float32).unsqueeze(0)
    items = torch.tensor([10 * STRETCH - 1, 10 * STRETCH - 4, 0])
    counts = count_above(scores, torch.zeros(3, dtype=torch.int64), items, k=5)
    assert counts.tolist() == [0, 3, NOT_LISTED]


def test_users_beyond_one_chunk_are_counted_for_themselves():
    rng = np.random.default_rng(3)
    blocks, users, bounds, asked = small_world(rng, n_users=523)
    depths, neighbours = masks(rng, 2, 4, 3)
    found = PlainEvaluator(BlockScores(blocks, users, bounds), asked, "recall@5")
    expected = [slow_metric(blocks, users, bounds, asked, each, "recall@5") for each in depths]
    assert found.evaluate(depths, neighbours) == pytest.approx(expected, abs=1e-12)


def test_no_composition_gives_no_value():
    blocks, users, bounds, asked = small_world(np.random.default_rng(0))
    evaluator = PlainEvaluator(BlockScores(blocks, users, bounds), asked)
    assert evaluator.evaluate(np.zeros((0, 4, 3)), np.zeros((0, 4))).shape == (0,)


def test_rows_that_need_codes_are_refused():
    blocks, users, bounds, asked = small_world(np.random.default_rng(0))
    evaluator = PlainEvaluator(BlockScores(blocks, users, bounds), asked)
    with pytest.raises(InputError, match=r"dropped \(0\) or kept whole \(32\)"):
        evaluator.evaluate(np.full((1, 4, 3), 2, np.uint8), np.zeros((1, 4), np.uint8))
    with pytest.raises(InputError, match="3 neighbours"):
        evaluator.evaluate(np.full((1, 4, 3), F32, np.uint8), np.full((1, 4), 3, np.uint8))


def test_vectors_and_bounds_must_fit_the_blocks():
    blocks, users, bounds, _ = small_world(np.random.default_rng(0))
    with pytest.raises(InputError, match="expected 3 × 2"):
        BlockScores(blocks, users[:, :4], bounds)
    with pytest.raises(InputError, match="expected 0 to 40"):
        BlockScores(blocks, users, bounds[:-1])


def split_of(parts):
    """A split from a (U, V) array that says 0 nothing, 1 train, 2 validation, 3 test."""
    U, V = parts.shape
    pairs = [
        Pairs.from_arrays(*np.nonzero(parts == part), n_users=U, n_items=V) for part in (1, 2, 3)
    ]
    return Split(*pairs, user_ids=Ids.dense(U), item_ids=Ids.dense(V))


def test_the_same_users_are_drawn_among_those_with_validation_items():
    parts = np.random.default_rng(1).choice(4, size=(50, 30), p=(0.7, 0.2, 0.05, 0.05))
    parts[::3][parts[::3] == 2] = 1
    split = split_of(parts)
    drawn = [validation_questions(split, 9, np.random.default_rng(5)) for _ in range(2)]
    assert np.array_equal(drawn[0].users, drawn[1].users)
    assert len(drawn[0].users) == 9
    assert (parts[drawn[0].users] == 2).any(axis=1).all()
    everyone = validation_questions(split, 1000, np.random.default_rng(5))
    assert np.array_equal(everyone.users, np.flatnonzero((parts == 2).any(axis=1)))
    with pytest.raises(InputError, match="0 users"):
        validation_questions(split, 0, np.random.default_rng(5))


def test_a_table_without_users_folds_them_in_from_train():
    rng = np.random.default_rng(2)
    blocks, _, bounds, asked = small_world(rng)
    table = BlockTable(blocks, None, "history")
    by_table = BlockScores.of_table(table, bounds, asked.users, asked.seen)
    by_hand = BlockScores(blocks, table.fold_in(asked.seen), bounds)
    depths, neighbours = masks(rng, 3, 4, 3)
    values = [
        PlainEvaluator(s, asked, "recall@5").evaluate(depths, neighbours)
        for s in (by_table, by_hand)
    ]
    assert np.array_equal(*values)


@pytest.mark.gpu
def test_a_gpu_gives_the_same_values():
    rng = np.random.default_rng(6)
    blocks, users, bounds, asked = small_world(rng, n_users=300, n_items=20 * STRETCH)
    depths, neighbours = masks(rng, 5, 4, 3)
    values = [
        PlainEvaluator(BlockScores(blocks, users, bounds, device=device), asked, "recall@20")
        .evaluate(depths, neighbours)
        .tolist()
        for device in ("cpu", "cuda")
    ]
    assert values[0] == values[1]


def test_weights_spread_evenly_over_groups_change_what_counts(rng):
    relevant = Pairs(np.array([0, 3, 4]), np.array([0, 1, 9, 0], np.int32), 10)
    nothing = Pairs(np.zeros(3, np.int64), np.zeros(0, np.int32), 10)
    asked = Questions(np.arange(2), nothing, relevant)
    ranks = np.array([[0, 9, 9, 0], [9, 9, 0, 9]])
    plain = mean_metric(ranks, asked, "recall@5")
    assert plain.tolist() == pytest.approx([(1 / 3 + 1) / 2, 1 / 6])
    bounds = np.array([0, 5, 10])  # three pairs are of popular items, one of a rare one
    assert evened(asked, bounds, 0.0) is asked
    even = evened(asked, bounds, 1.0)
    assert even.weights == pytest.approx([2 / 3, 2 / 3, 2, 2 / 3])
    found = mean_metric(ranks, even, "recall@5")
    total = (2 / 3 + 2 / 3 + 2) / 3 + 2 / 3
    assert found.tolist() == pytest.approx([(2 / 9 + 2 / 3) / total, (2 / 3) / total])
    half = evened(asked, bounds, 0.5)
    assert half.weights == pytest.approx((np.ones(4) + even.weights) / 2)
    gains, best = 1 / np.log2(ranks + 2) * (ranks < 5), np.array([1 + 1 / np.log2(3) + 0.5, 1.0])
    wanted = (gains * even.weights) @ np.repeat(1 / best, [3, 1]) / total
    assert mean_metric(ranks, even, "ndcg@5") == pytest.approx(wanted)
    assert mean_metric(ranks, even, "both@5") == pytest.approx((found + wanted) / 2)
    with pytest.raises(InputError, match="expected recall or ndcg or both"):
        mean_metric(ranks, even, "hit@5")


@given(st.integers(0, 2**32 - 1))
def test_equal_weights_change_no_mean(seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 9, size=6)
    relevant = Pairs(
        np.append(0, counts.cumsum()), np.concatenate([np.arange(n) for n in counts]), 9
    )
    asked = Questions(np.arange(6), relevant, relevant)
    ranks = rng.integers(0, 12, size=(2, len(relevant)))
    weighted = replace(asked, weights=np.full(len(relevant), 3.0))
    for metric in ("recall@4", "ndcg@4", "ndcg@20", "both@4"):
        found = mean_metric(ranks, weighted, metric)
        assert found == pytest.approx(mean_metric(ranks, asked, metric))


def test_a_share_beyond_all_is_refused():
    nothing = Pairs(np.zeros(3, np.int64), np.zeros(0, np.int32), 10)
    asked, bounds = Questions(np.arange(2), nothing, nothing), np.array([0, 5, 10])
    with pytest.raises(InputError, match="expected 0 to 1"):
        evened(asked, bounds, 1.5)
