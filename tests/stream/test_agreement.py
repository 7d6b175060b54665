"""A prefix ranks on a device as the evaluation of its composition does."""

from dataclasses import replace

import numpy as np
import pytest

from elasticrec.compression.codes import Codes
from elasticrec.compression.neighbours import Neighbours
from elasticrec.data.interactions import Pairs
from elasticrec.evaluation.measure import Scorer, Votes
from elasticrec.ordering.order import OrderConfig, make_order
from elasticrec.stream.chunk import index_of
from elasticrec.stream.side_files import vector_bytes
from elasticrec.stream.writer import Facts, stream_parts
from tests.stream.making import random_parts
from tests.stream.reference import Reference

V, N = 60, 2
DESCRIBED = [(2, (0,), 40), (2, (0,), 20), (1, (0, 1), 8)]
MODEL = "ab" * 32


@pytest.fixture(scope="module", params=[True, False], ids=["cosine", "dot"])
def model(request):
    made, lists, weights = random_parts(np.random.default_rng(4), V, N, DESCRIBED, 2)
    codes = Codes(
        codebooks=made.codebooks,
        columns=made.columns,
        data=made.data,
        n_blocks=N,
        unit=20_000.0,
        recency=0.25,
        cosine=request.param,
        gains=made.gains,
        popularity=made.popularity,
        empty=made.empty,
        rotation=np.eye(8 * N, dtype=np.float32),
    )
    neighbours = Neighbours(lists.numbers, lists.votes, lists.values, min_support=3)
    return codes, neighbours, (weights / 100_000).astype(np.float32)


@pytest.fixture(scope="module")
def histories():
    rng = np.random.default_rng(1)
    users, items = np.repeat(np.arange(5), 7), rng.integers(0, V, 35)
    return Pairs.from_arrays(users, items, n_users=6, n_items=V)  # the last has none


def prefixes(model):
    """(climbs, bytes) of the order's prefixes that end with a climb."""
    codes, neighbours, weights = model
    order = make_order(V, codes.n_columns, 2, OrderConfig(lead=1, group_items=10), least=1)
    facts = Facts(MODEL, order.least, support=neighbours.min_support)
    for climbs in (1, 3, len(order)):
        part = type(order)(
            V,
            *(getattr(order, n)[:climbs] for n in ("kind", "which", "first", "count")),
            order.least,
        )
        data = b"".join(stream_parts(codes, neighbours, weights, part, facts=facts))
        assert index_of(data, len(data)).head.support == 3
        yield order.composition(climbs), Reference(data)


def check(expected, found, M, q, composition, unit):
    """Scores agree up to the rounding of tables and votes to whole numbers."""
    rho = np.sqrt(np.square(q, dtype=float).sum()) * 32767 / M * unit * 128
    listed = np.flatnonzero(composition.listable)
    assert sorted(found) == listed.tolist()
    device = np.array([found[item] for item in listed]) / rho
    slack = 2 * 255 * composition.columns.max() + 1
    np.testing.assert_allclose(device, expected[listed], atol=slack / rho + 2e-6, rtol=2e-6)


def test_a_person_known_by_history_has_equal_scores(model, histories):
    codes, neighbours, weights = model
    for composition, reader in prefixes(model):
        scorer = Scorer(codes, composition, device="cpu")
        order = np.concatenate([np.arange(n, dtype=np.int32) for n in histories.per_user])
        persons = scorer.persons(replace(histories, order=order))
        votes = Votes(neighbours, weights, composition, "history").of(histories).toarray()
        scores = scorer.scores(persons).numpy() + votes
        for user in range(6):
            h = histories.of(user).tolist()
            q = reader.person(h, None)
            M = reader.tables(q)[1]
            check(scores[user], reader.scores(h), M, q, composition, codes.unit)


def test_a_person_with_a_vector_has_equal_scores(model, histories):
    codes, neighbours, weights = model
    vectors = np.random.default_rng(2).normal(0, 0.3, (6, 8 * N)).astype(np.float16)
    for composition, reader in prefixes(model):
        scorer = Scorer(codes, composition, device="cpu")
        persons = scorer.rounded(vectors.astype(np.float64))
        votes = Votes(neighbours, weights, composition, "vector").of(histories).toarray()
        scores = scorer.scores(persons).numpy() + votes
        for user in range(6):
            h, given = (
                histories.of(user).tolist(),
                reader.read_vector(vector_bytes(vectors[user], MODEL)),
            )
            q = reader.person(h, given)
            M = reader.tables(q)[1]
            check(scores[user], reader.scores(h, given), M, q, composition, codes.unit)
