"""The first release's format: what its planes say, and what they cost."""

import numpy as np
import pytest

from experiments.format3 import FIXED_BYTES, Row, encode, word_lists


@pytest.fixture(scope="module")
def items():
    """(600, 32) unit vectors in clusters, the first directions of which carry most energy."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(12, 32))
    found = centres[rng.integers(12, size=600)] + rng.normal(size=(600, 32))
    found *= np.geomspace(1, 0.2, 32)
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def coded(items):
    return encode(items)


def test_more_planes_come_nearer_and_all_planes_come_close(coded):
    whole = coded.originals + np.repeat(
        coded.means.astype(np.float32), np.diff(coded.bounds), axis=0
    )
    planes = (1, 4, 12, 32)
    errors = [
        np.square(coded.vectors(Row(coded.depths(n), 0)) - whole).sum(axis=1).mean() for n in planes
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.01


def test_gains_give_back_the_length_of_what_is_kept(coded):
    row = Row((8, 8, 8, 8), 0)
    copies = coded.vectors(row) - np.repeat(
        coded.means.astype(np.float32), np.diff(coded.bounds), axis=0
    )
    lengths = np.linalg.norm(copies, axis=1)
    np.testing.assert_allclose(lengths, np.linalg.norm(coded.originals, axis=1), rtol=0.02)


def test_a_rotation_changes_no_product_of_whole_vectors(items, coded):
    row = Row((8, 8, 8, 8), 0)
    found = coded.vectors(row)
    errors = found @ found[:20].T - items @ items[:20].T
    assert np.sqrt(np.square(errors).mean()) < 0.02


def test_bytes_as_counted_by_hand(coded):
    fixed = FIXED_BYTES + 20 * (16 + 4) + 2 * 21 * 32 + 12 * 4  # groups, means, scales
    assert coded.n_bytes(Row((0, 0, 0, 0), 0)) == fixed
    assert coded.n_bytes(Row((2, 1, 0, 0), 0)) == fixed + 600 * (3 + 1)  # and the gain
    slot = 600 + 2 * 75 + 300  # ten bits of a number, four of a vote
    assert coded.n_bytes(Row((0, 0, 0, 0), 3)) == fixed + 3 * slot


def test_rows_fill_a_budget_without_exceeding_it(coded):
    for size in (12, 20, 40):
        rows = coded.rows(size * 600, 16)
        assert rows
        assert max(row.neighbours for row in rows) > 0
        for row in rows:
            assert coded.n_bytes(row) <= size * 600
            more = Row(coded.depths(min(32, sum(row.depths) + 1)), row.neighbours)
            assert more.depths == row.depths or coded.n_bytes(more) > size * 600
    assert coded.rows(100, 16) == []


def test_large_catalogues_have_words_and_letters_first():
    assert word_lists(8_828, 16) == 0
    assert word_lists(40_981, 16) == 10
    assert word_lists(91_599, 16) == 16
    rng = np.random.default_rng(0)
    coded = encode(rng.normal(size=(4_200, 32)).astype(np.float32))
    assert len(coded.words) == 4
    assert coded.depths(4) == (1, 1, 1, 1)
    assert coded.depths(8) == (2, 2, 2, 2)
