import math
from dataclasses import replace

import numpy as np
import pytest

from elasticrec.compression.codes import decode_item
from elasticrec.errors import InputError
from elasticrec.evaluation.persons import folded_vectors, server_vectors, stored_map


def folded_slowly(model, composition, history, with_map):
    """The page's section 10, number by number."""
    total = [0.0] * 24
    for item in sorted(history):
        group = model.codes.group_of(item, item + 1)
        x = decode_item(model.codes, item, composition.depths[group])
        length = math.sqrt(sum(v * v for v in x))
        total = [t + (v / length if length else v) for t, v in zip(total, x, strict=True)]
    length = math.sqrt(sum(v * v for v in total))
    s = [t / length if length else t for t in total]
    if with_map:
        M = stored_map(model.codes, model.fold_map).tolist()
        s = [sum(s[j] * M[j][k] for j in range(24)) for k in range(24)]
    return s


@pytest.mark.parametrize("with_map", [False, True])
def test_histories_fold_in_from_what_the_composition_keeps(coded, rng, with_map):
    model, asked = coded[0](rng, fold_map=True), coded[1](rng)
    composition = model.menu.compose(rng.integers(model.menu.n_rows, size=5))
    found = folded_vectors(model, asked.seen, composition, with_map=with_map)
    for user in (1, 7, 29):
        wanted = folded_slowly(model, composition, asked.seen.of(user).tolist(), with_map)
        assert found[user] == pytest.approx(wanted, abs=1e-5)


def test_without_a_composition_all_planes_count(coded, rng):
    model, asked = coded[0](rng), coded[1](rng)
    everything = model.menu.compose(np.full(5, model.menu.n_rows - 1))
    found = folded_vectors(model, asked.seen)
    assert np.array_equal(found, folded_vectors(model, asked.seen, everything))
    assert np.linalg.norm(found[1:], axis=1) == pytest.approx(1)


def test_an_empty_history_is_the_mean_person(coded, rng):
    model, asked = coded[0](rng, fold_map=True), coded[1](rng)
    for with_map in (False, True):
        found = folded_vectors(model, asked.seen, with_map=with_map)[0]
        assert np.array_equal(found, model.codes.person.astype(np.float32))


def test_server_vectors_are_turned_unit_vectors_in_half_precision(coded, rng):
    model, _ = coded[0](rng), None
    found = server_vectors(model, np.array([3, 5]))
    turned = model.users[[3, 5]] @ model.codes.rotation
    assert found == pytest.approx(turned / np.linalg.norm(turned, axis=1)[:, None], abs=1e-3)
    assert np.array_equal(found, found.astype(np.float16).astype(np.float32))


def test_what_a_model_lacks_is_refused(coded, rng):
    model, asked = coded[0](rng), coded[1](rng)
    with pytest.raises(InputError, match="no user vectors"):
        server_vectors(replace(model, users=None), np.array([0]))
    with pytest.raises(InputError, match="no map"):
        folded_vectors(model, asked.seen, with_map=True)
