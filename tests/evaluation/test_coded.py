import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elasticrec.data.errors import InputError
from elasticrec.evaluation.coded import CodedScores, score_reference
from elasticrec.evaluation.compositions import PlainEvaluator
from elasticrec.evaluation.decoding import Decoder
from elasticrec.evaluation.merging import MenuEvaluator
from elasticrec.evaluation.persons import folded_vectors, server_vectors

shared = settings(
    deadline=None, max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def scored(scores, composition, start, stop):
    """(users, items) scores of a composition."""
    bounds = scores.bounds.tolist()
    out = torch.empty((stop - start, bounds[-1]))
    for g in range(len(bounds) - 1):
        scores.write(
            out[:, bounds[g] : bounds[g + 1]],
            g,
            composition.depths[g],
            int(composition.neighbours[g]),
            start,
            stop,
        )
    return out.numpy()


@shared
@given(
    seed=st.integers(0, 2**32),
    by_root=st.booleans(),
    person=st.sampled_from(["vector+history", "history"]),
)
def test_scores_are_those_of_the_slow_twin(coded, seed, by_root, person):
    rng = np.random.default_rng(seed)
    model, asked = coded[0](rng, by_root=by_root), coded[1](rng)
    composition = model.menu.compose(rng.integers(model.menu.n_rows, size=5))
    vectors = rng.normal(size=(30, 24)).astype(np.float32)
    scores = CodedScores(model, vectors, asked.seen, person)
    found = scored(scores, composition, 3, 9)
    again = scored(scores, composition, 0, 30)[3:9]
    assert np.allclose(found, again, atol=1e-5)
    for user, item in ((0, 0), (1, 17), (2, 44), (3, 60), (4, 88), (5, 89)):
        history = set(asked.seen.of(3 + user).tolist())
        wanted = score_reference(model, composition, vectors[3 + user], history, person, item)
        assert found[user, item] == pytest.approx(wanted, rel=1e-4, abs=1e-4)


@shared
@given(
    seed=st.integers(0, 2**32),
    metric=st.sampled_from(["recall@5", "ndcg@20", "hit@3"]),
    person=st.sampled_from(["vector+history", "history"]),
)
def test_both_evaluators_agree_on_coded_scores(coded, seed, metric, person):
    rng = np.random.default_rng(seed)
    model, asked = coded[0](rng), coded[1](rng)
    if person == "history":
        vectors = folded_vectors(model, asked.seen)
    else:
        vectors = server_vectors(model, asked.users)
    scores = CodedScores(model, vectors, asked.seen, person)
    choices = rng.integers(model.menu.n_rows, size=(10, 5))
    depths, neighbours = model.menu.depths[choices], model.menu.neighbours[choices]
    plain = PlainEvaluator(scores, asked, metric).evaluate(depths, neighbours)
    counted = MenuEvaluator(scores, asked, model.menu, metric, threads=2)
    assert np.array_equal(counted.evaluate(depths, neighbours), plain)


def test_votes_change_only_what_they_are_for(coded, rng):
    model, asked = coded[0](rng), coded[1](rng)
    vectors = server_vectors(model, asked.users)
    scores = CodedScores(model, vectors, asked.seen, "vector+history")
    dense, voted = (scored(scores, model.menu.compose(np.full(5, row)), 0, 30) for row in (12, 15))
    votes = model.neighbours.votes(asked.seen.csr(), 64, 0, 90)
    assert (votes[0] == 0).all()  # she has no history
    assert np.array_equal(voted[votes == 0], dense[votes == 0])
    assert (voted[votes > 0] > dense[votes > 0]).all()


def test_decoding_in_torch_is_that_of_the_codes(coded, rng):
    codes = coded[0](rng).codes
    decoder = Decoder(codes, "cpu")
    for g in (0, 2, 4):
        lo, hi = codes.bounds[g : g + 2]
        for depths in (*codes.rows, np.zeros(3, dtype=np.uint8)):
            found = decoder.vectors(g, depths).numpy()
            assert np.allclose(found, codes.decode(lo, hi, depths), atol=1e-6)
            assert np.array_equal(decoder.vectors(g, depths).numpy(), found)


def test_keeps_no_more_decoded_than_one_table(coded, rng):
    codes = coded[0](rng).codes
    decoder = Decoder(codes, "cpu")
    for depths in codes.rows:
        for g in range(5):
            decoder.vectors(g, depths)
            assert sum(map(len, decoder._kept.values())) <= codes.n_items


def test_items_of_groups_that_keep_nothing_are_never_listed(coded, rng):
    model, asked = coded[0](rng), coded[1](rng)
    scores = CodedScores(model, server_vectors(model, asked.users), asked.seen, "vector+history")
    composition = model.menu.compose(np.array([0, 19, 19, 19, 19]))
    found = scored(scores, composition, 0, 30)
    first = int(model.codes.bounds[1])
    assert (found[:, :first] == -np.inf).all()
    assert np.isfinite(found[:, first:]).all()


def test_refuses_rows_and_vectors_that_do_not_fit(coded, rng):
    model, asked = coded[0](rng), coded[1](rng)
    vectors = server_vectors(model, asked.users)
    scores = CodedScores(model, vectors, asked.seen, "history")
    out = torch.empty((2, int(model.codes.bounds[1])))
    with pytest.raises(InputError, match="no row of the menu"):
        scores.write(out, 0, np.array([1, 0, 0], np.uint8), 2, 0, 2)
    with pytest.raises(InputError, match="no row of the menu that was coded"):
        scores.write(out, 0, np.array([7, 0, 0], np.uint8), 0, 0, 2)
    with pytest.raises(InputError, match=r"expected \(30, 24\)"):
        CodedScores(model, vectors[:, :16], asked.seen, "history")
    with pytest.raises(InputError, match="expected one of vector"):
        CodedScores(model, vectors, asked.seen, "vector")
