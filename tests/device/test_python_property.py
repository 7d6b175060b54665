"""The Python runtime against the slow reader of the page, on random streams, to the last digit."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import elasticrec_device
from tests.device.python_making import random_stream, vector_file, withdrawn_file
from tests.stream.reference import Reference

SEEDS = st.integers(0, 2**32)
TILES = st.sampled_from([elasticrec_device.TILE, 8, 13])


def texts(ids):
    """Ids as the slow reader takes them."""
    return None if ids is None else [str(each) for each in ids]


def a_question(made, rng):
    """Arguments of `recommend`, and the numbers of a vector or None."""
    foreign = ["?", "", "\ud800"] if made.head.id_kind == 3 else [2**70, -1, made.head.V]
    ids = made.ids + foreign

    def some(most):
        return [ids[i] for i in rng.integers(0, len(ids), rng.integers(0, most + 1))]

    asked = {"history": some(8), "exclude": some(3), "k": int(rng.choice([0, 1, 5, 100]))}
    asked |= {"diversity": float(rng.choice([0, 0, 0.3, 1]))}
    asked |= {"repeat": bool(rng.integers(2)), "only": some(40) if rng.random() < 0.2 else None}
    vector = rng.standard_normal(8 * made.head.N) * (rng.random() > 0.1)
    return asked, vector.astype(np.float16) if rng.random() < 0.5 else None


def check_answers(made, seed, tile, n_questions=4):
    """Ask both readers the same."""
    rng = np.random.default_rng([seed, 1])
    gone = np.flatnonzero(rng.random(made.head.V) < rng.choice([0, 0.1])).tolist()
    slow = Reference(made.data, withdrawn=withdrawn_file(gone))
    with (
        mock.patch.object(elasticrec_device, "TILE", tile),
        elasticrec_device.open(made.data) as stream,
    ):
        stream.withdraw(withdrawn_file(gone))
        for _ in range(n_questions):
            asked, vector = a_question(made, rng)
            expected = slow.recommend(
                texts(asked["history"]),
                None if vector is None else vector.astype(float).tolist(),
                asked["k"],
                texts(asked["exclude"]),
                texts(asked["only"]),
                asked["repeat"],
                asked["diversity"],
            )
            found = stream.recommend(
                **asked, vector=None if vector is None else vector_file(vector), why=True
            )
            lists = [texts(each.id for each in found), [each.score for each in found]]
            why = [None if each.why is None else str(each.why) for each in found]
            assert (*lists, why, found.unknown) == expected


@settings(max_examples=200, deadline=None)
@given(SEEDS, TILES)
def test_every_answer_is_the_pages(seed, tile):
    check_answers(random_stream(seed), seed, tile)


@settings(max_examples=40, deadline=None)
@given(SEEDS, TILES, st.integers(100, 3000), st.floats(0, 1))
def test_a_catalogue_may_be_much_larger_than_what_has_arrived(seed, tile, V, share):
    made = random_stream(seed, n=50, V=V, base=int(share * (V - 50)), id_kind=0)
    check_answers(made, seed, tile, n_questions=2)


@pytest.mark.parametrize("bits", [7, 8, 9, 15, 16, 17])
def test_neighbour_numbers_of_every_width(bits):
    for seed, V in enumerate([2**bits - 1, 2**bits, 2**bits + 1]):
        made = random_stream([seed, bits], n=40, V=V, base=V - 40, N=16, id_kind=0)
        check_answers(made, seed, elasticrec_device.TILE, n_questions=2)
