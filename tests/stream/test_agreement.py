"""A bundle of a coded model scores as the evaluation of that model does, for both persons."""

from itertools import product

import numpy as np
import pytest

from elasticrec.training.table import BlockTable
from elasticrec.bundle.material import Material
from elasticrec.stream.person import vector_file
from elasticrec.bundle.writer import pack
from elasticrec.coding.mixing import Mixing
from elasticrec.coding.planes import encode
from elasticrec.data.interactions import Pairs
from elasticrec.evaluation.coded import CodedModel, score_reference
from elasticrec.evaluation.persons import folded_vectors, server_vectors, stored_map
from elasticrec.space.composition import Menu
from tests.bundle.making import random_material
from tests.bundle.reference import Reference

SIZES = [20, 15, 25]
MODEL_ID = "ab" * 32


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    V = sum(SIZES)
    menu = Menu(np.array([[0, 0], [3, 1], [8, 4], [0, 0]]), np.array([0, 2, 0, 5]))
    fold_map = rng.normal(0, 0.3, (16, 16)).astype(np.float32)
    blocks = rng.normal(0.2, 1, (V, 2, 8)).astype(np.float32)
    users = rng.normal(size=(6, 16)).astype(np.float32)
    table = BlockTable(blocks, users, "mf", fold_map=fold_map)
    codes = encode(table, np.cumsum([0, *SIZES]), menu.depths, rng=rng, n_lists=2)
    lists = random_material(rng, SIZES, 2).neighbours
    mixing = Mixing(rng.uniform(0.1, 1, (4, 2)), by_root=True)
    return CodedModel(codes, lists, menu, mixing, users, fold_map)


@pytest.fixture(scope="module")
def histories():
    rng = np.random.default_rng(1)
    users, items = np.repeat(np.arange(5), 8), rng.integers(0, sum(SIZES), 40)
    return Pairs.from_arrays(users, items, n_users=6, n_items=sum(SIZES))  # the last has none


def bundle(model, choice, with_map=False):
    square = stored_map(model.codes, model.fold_map) if with_map else None
    material = Material(
        model.codes, model.neighbours, model.mixing, model.menu, MODEL_ID, fold_map=square
    )
    composition = model.menu.compose(np.array(choice))
    return composition, Reference(pack(material, composition, about={}))


def check(model, composition, reader, vector, history, person):
    found = reader.scores([np.float32(v) for v in vector], history, person != "history")
    for item in range(sum(SIZES)):
        expected = score_reference(model, composition, vector, history, person, item)
        assert found.get(item, -np.inf) == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize("choice", [(2, 1, 3), (1, 0, 2), (3, 3, 0)])
def test_a_person_with_a_vector_has_equal_scores(model, histories, choice):
    composition, reader = bundle(model, choice)
    for user in range(6):
        read = reader.read_vector(vector_file(model.users[user], model.codes, MODEL_ID))
        given = server_vectors(model, np.array([user]))[0]
        np.testing.assert_allclose(np.array(read), given, atol=5e-4)
        history = histories.of(user).tolist()
        check(model, composition, reader, np.array(read), history, "vector+history")


@pytest.mark.parametrize(
    ("choice", "with_map"), list(product([(2, 1, 3), (1, 0, 2)], [True, False]))
)
def test_a_person_known_by_history_has_equal_scores(model, histories, choice, with_map):
    composition, reader = bundle(model, choice, with_map)
    folded = folded_vectors(model, histories, composition, with_map=with_map)
    for user in range(6):
        history = histories.of(user).tolist()
        vector = reader.person_vector(history)
        np.testing.assert_allclose(np.array(vector), folded[user], atol=2e-5)
        check(model, composition, reader, np.array(vector), history, "history")
