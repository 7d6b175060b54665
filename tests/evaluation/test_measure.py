"""Measuring a composition: hand-worked answers, and the device's own lists."""

from dataclasses import replace

import numpy as np
import pytest

from elasticrec.compression.codes import Codes
from elasticrec.compression.compress import compress
from elasticrec.compression.config import CompressionConfig
from elasticrec.compression.neighbours import Neighbours, make_neighbours
from elasticrec.data.interactions import Pairs
from elasticrec.data.splitting import by_popularity
from elasticrec.errors import InputError
from elasticrec.evaluation.measure import Scorer, Votes, measure
from elasticrec.space import Composition

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def world(planted):
    """The split of a planted world, codes of random vectors, and lists."""
    split, _ = by_popularity(planted)
    rng = np.random.default_rng(1)
    items = rng.normal(size=(split.n_items, 16)).astype(np.float32)
    config = CompressionConfig(stages=2, min_support=1)
    return split, compress(items, config), make_neighbours(split.train, config)


def history(*items: int, n_items: int) -> Pairs:
    return Pairs(np.array([0, len(items)]), np.array(items, dtype=np.int32), n_items)


def reference_scores(
    codes: Codes, lists: Neighbours, weights: np.ndarray, composition: Composition, taken: list[int]
) -> np.ndarray:
    """Cosines of decoded vectors, times their gains, plus votes, one number after the other."""
    y = codes.decode(slice(None), composition.columns).astype(float)
    lengths = np.sqrt((y**2).sum(axis=1))
    units = y / np.maximum(lengths, 1e-12)[:, None]
    person = units[taken].sum(axis=0)
    if not composition.columns[taken].any():
        person = codes.empty.astype(float)
    person /= np.linalg.norm(person)
    out = np.full(codes.n_items, -np.inf)
    for i in np.flatnonzero(composition.listable):
        votes = 0.0
        for slot in range(int(composition.slots[i])):
            if lists.votes[i, slot] and int(lists.numbers[i, slot]) in taken:
                votes += float(lists.values[lists.votes[i, slot]])
        weight = float(weights[composition.columns[i], 0]) / np.sqrt(len(taken))
        told = codes.gains[composition.columns[i] - 1] / 32_768 if composition.columns[i] else 0
        out[i] = told * (units[i] @ person) + weight * votes
    return out


@pytest.mark.parametrize(
    ("columns", "slots"), [(6, 0), (6, 3), (2, 1), (0, 2)], ids=["codes", "both", "few", "lists"]
)
def test_scores_are_those_of_the_definition(world, columns: int, slots: int) -> None:
    split, codes, lists = world
    V = split.n_items
    composition = Composition.uniform(V, columns, slots)
    composition.columns[V // 2 :] = max(columns - 1, min(columns, 2))
    weights = np.random.default_rng(0).random((codes.n_columns + 1, 2)).astype(np.float32) * 1e-4
    taken = [3, 17, 60]
    scorer = Scorer(codes, composition, device="cpu")
    rows = history(*taken, n_items=V)
    votes = Votes(lists, weights, composition, "history")
    scores = scorer.listed(scorer.persons(rows), rows, votes)
    wanted = reference_scores(codes, lists, weights, composition, taken)
    # A factor is one byte: cosines are right to half a per cent.
    np.testing.assert_allclose(scores[0].numpy(), wanted, atol=0.006)


def test_older_items_weigh_less(world) -> None:
    split, codes, _ = world
    recent = replace(codes, recency=1.0)
    scorer = Scorer(recent, Composition.uniform(split.n_items, 4, 0), device="cpu")
    rows = history(1, 2, n_items=split.n_items)
    units = scorer.y / scorer.lengths[:, None]
    found = scorer.persons(replace(rows, order=np.array([1, 0], dtype=np.int32))).numpy()[0]
    wanted = units[1] + units[2] / 2
    np.testing.assert_allclose(found, wanted / np.linalg.norm(wanted), atol=1e-4)
    unknown = scorer.persons(rows).numpy()[0]
    wanted = units[1] + units[2]
    np.testing.assert_allclose(unknown, wanted / np.linalg.norm(wanted), atol=1e-4)


def test_unlisted_items_are_never_relevant(world) -> None:
    split, codes, lists = world
    weights = np.zeros((codes.n_columns + 1, 2))
    nothing = Composition.uniform(split.n_items, 0, 0)
    found = measure(codes, lists, weights, nothing, split, device="cpu")
    assert found.metrics == {"recall@50": 0.0}


def test_persons_by_vector_rank_by_it(world) -> None:
    split, codes, _ = world
    weights = np.zeros((codes.n_columns + 1, 2))
    whole = Composition.uniform(split.n_items, codes.n_columns, 0)
    y = codes.decode(slice(None), whole.columns).astype(float)
    relevant = split.validation
    wanted = np.zeros((split.n_users, codes.dimensions))
    for user in range(split.n_users):
        if len(relevant.of(user)):
            wanted[user] = y[relevant.of(user)[0]]
    wanted /= np.maximum(np.linalg.norm(wanted, axis=1, keepdims=True), 1e-9)
    found = measure(
        codes, None, weights, whole, split, person="vector", vectors=wanted,
        metrics=("hit@1",), device="cpu",
    )  # fmt: skip
    assert found.metrics["hit@1"] == 1.0
    with pytest.raises(InputError, match="need their vectors"):
        measure(codes, None, weights, whole, split, person="vector", device="cpu")


def test_a_composition_of_other_items_is_refused(world) -> None:
    with pytest.raises(InputError, match="codes of 200"):
        Scorer(world[1], Composition.uniform(3, 1, 0), device="cpu")


def test_codes_of_the_right_vectors_rank_better_than_popularity(world) -> None:
    split, codes, lists = world
    weights = np.full((codes.n_columns + 1, 2), 1e-4, dtype=np.float32)
    by_lists = Composition.uniform(split.n_items, 0, lists.slots)
    found = measure(codes, lists, weights, by_lists, split, metrics=("recall@20",), device="cpu")
    assert found.metrics["recall@20"] > 0.15
