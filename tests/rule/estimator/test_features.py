import json
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.errors import InputError
from elasticrec.rule.estimator.features import Features
from elasticrec.space.composition import F32


def test_whole_or_dropped_blocks_are_the_papers_multi_hot():
    depths = np.array([[[F32, 0, F32], [0, 0, F32]]], dtype=np.uint8)
    bits = Features(2, 3).encode(depths, np.zeros((1, 2), dtype=np.uint8))
    assert bits.tolist() == [[[1, 0, 1], [0, 0, 1]]]


def test_depths_and_neighbours_are_thermometers():
    features = Features(1, 2, depths=(0, 1, 4, F32), neighbours=(0, 1, 4))
    depths = np.array([[[4, 0]], [[F32, 1]]], dtype=np.uint8)
    bits = features.encode(depths, np.array([[1], [4]], dtype=np.uint8))
    assert features.width == 8
    assert bits[0, 0].tolist() == [1, 1, 0, 0, 0, 0, 1, 0]
    assert bits[1, 0].tolist() == [1, 1, 1, 1, 0, 0, 1, 1]


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**32))
def test_deeper_means_more_bits_and_no_two_compositions_look_alike(seed):
    rng = np.random.default_rng(seed)
    levels = np.array([0, 1, 2, 3, 8, F32], dtype=np.uint8)
    places = rng.integers(6, size=(2, 3, 4))
    depths = levels[places]
    neighbours = levels[rng.integers(6, size=(2, 3))]
    features = Features(3, 4, tuple(levels.tolist()), tuple(levels.tolist()))
    bits = features.encode(depths, neighbours)
    assert np.array_equal(bits[:, :, :20].reshape(2, 3, 4, 5).sum(axis=3), places)
    alike = np.array_equal(depths[0], depths[1]) and np.array_equal(*neighbours)
    assert np.array_equal(bits[0], bits[1]) == alike


def test_levels_come_from_what_is_there_and_others_are_not_guessed():
    depths = np.array([[[0, 2], [F32, 2]]], dtype=np.uint8)
    features = Features.of(depths, np.array([[3, 3]], dtype=np.uint8))
    assert features == Features(2, 2, (0, 2, F32), (3,))
    assert np.isnan(features.encode(np.full((1, 2, 2), 5), np.full((1, 2), 3))).any()
    assert np.isnan(features.encode(depths, np.full((1, 2), 4))).all()


def menu_samples(rng):
    """A menu of 11 rows over 4 blocks, and 50 compositions of 3 groups."""
    chain = np.array([[0, 0, 0, 0], [1, 0, 0, 0], [2, 1, 1, 0], [8, 8, 8, 8]], dtype=np.uint8)
    rows = [(c, k) for c in range(4) for k in (0, 1, 4)][:-1]
    chosen = rng.integers(len(rows), size=(50, 3))
    depths = chain[np.array([c for c, _ in rows])][chosen]
    return rows, chosen, depths, np.array([k for _, k in rows], dtype=np.uint8)[chosen]


def test_rows_of_a_menu_are_told_by_few_bits_no_two_alike(rng):
    rows, chosen, depths, neighbours = menu_samples(rng)
    features = Features.of(depths, neighbours)
    assert len(features.told) == 3  # one per step of the chain, not one per block and depth
    assert features.width == 3 + 2 + len(features.crossed)
    assert len(features.crossed) <= len(rows) - 1 - 5
    bits = features.encode(depths, neighbours)
    patterns = {chosen[b, g]: bits[b, g].tobytes() for b in range(50) for g in range(3)}
    assert len(set(patterns.values())) == len(patterns) == len(rows)
    columns = np.unique(bits.reshape(-1, features.width), axis=0)
    assert len(np.unique(columns, axis=1).T) == features.width  # no bit says what another says
    assert (columns.min(axis=0) < columns.max(axis=0)).all()


def test_products_say_what_depth_goes_with_what_count(rng):
    _, _, depths, neighbours = menu_samples(rng)
    features = Features.of(depths, neighbours)
    bits = features.encode(depths, neighbours)
    for place, (told, count) in enumerate(features.crossed):
        n, depth = features.told[told]
        wanted = (depths[:, :, n] >= depth) & (neighbours >= count)
        assert np.array_equal(bits[:, :, 5 + place], wanted)


def test_features_survive_json(rng):
    _, _, depths, neighbours = menu_samples(rng)
    for features in (Features.of(depths, neighbours), Features(2, 3)):
        assert Features.from_dict(json.loads(json.dumps(asdict(features)))) == features


@pytest.mark.parametrize("levels", [(), (3, 1), (1, 1), (-1, 2)])
def test_levels_out_of_order_are_refused(levels):
    with pytest.raises(InputError, match="ascending"):
        Features(2, 2, depths=levels)
