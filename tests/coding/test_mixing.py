"""Mixing weights: what was saved comes back bit by bit, and nonsense is refused."""

import numpy as np
import pytest

from elasticrec.coding.mixing import Mixing
from elasticrec.data.errors import InputError


def test_every_float_comes_back(tmp_path, rng):
    weights = np.exp(rng.normal(size=(48, 2)) * 5).astype(np.float32)
    weights[0] = 0
    mixing = Mixing(weights, by_root=True)
    mixing.save(tmp_path / "mixing.json")
    again = Mixing.load(tmp_path / "mixing.json")
    assert again.fingerprint() == mixing.fingerprint()
    np.testing.assert_array_equal(again.weights, weights)
    assert again.by_root is True
    assert Mixing(weights, by_root=False).fingerprint() != mixing.fingerprint()


def test_each_kind_of_person_has_a_column():
    mixing = Mixing(np.array([[1, 2], [3, 4]]), by_root=False)
    assert mixing.column("vector+history").tolist() == [1, 3]
    assert mixing.column("history").tolist() == [2, 4]
    with pytest.raises(InputError, match="person 'vector', expected one of"):
        mixing.column("vector")


def test_nonsense_is_refused(tmp_path):
    for weights in ([[1, 2, 3]], [1, 2], np.zeros((2, 2, 2))):
        with pytest.raises(InputError, match=r"expected \(rows, 2\)"):
            Mixing(np.array(weights), by_root=True)
    for number in (-1, np.nan, np.inf):
        with pytest.raises(InputError, match="negative or not finite"):
            Mixing(np.array([[0, number]]), by_root=True)
    path = tmp_path / "mixing.json"
    path.write_text("{")
    with pytest.raises(InputError, match="not JSON"):
        Mixing.load(path)
    path.write_text('{"weights": []}')
    with pytest.raises(InputError, match="no mixing weights"):
        Mixing.load(path)
