import numpy as np
import pytest

from elasticrec.stream.person import vector_bytes, vector_file
from elasticrec.bundle.writer import pack
from elasticrec.errors import InputError
from tests.bundle.making import random_material
from tests.bundle.reference import Reference


@pytest.fixture
def material():
    return random_material(np.random.default_rng(0), [20, 13], 2)


def test_a_device_reads_the_rotated_vector_of_length_1(material):
    vector = np.random.default_rng(1).normal(size=16) * 7
    written = vector_file(vector, material.codes, material.model_id)
    reader = Reference(pack(material, material.menu.compose(np.array([0, 0])), about={}))
    read = np.array(reader.read_vector(written))
    turned = vector @ material.codes.rotation
    np.testing.assert_allclose(read, turned / np.linalg.norm(turned), atol=5e-4)
    assert len(written) == 48 + 2 * 16 == material.accounting().reserved_bytes


def test_equal_inputs_give_equal_bytes(material):
    vector = np.arange(16)
    first, second = (vector_file(vector, material.codes, material.model_id) for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("vector", "words"),
    [
        (np.zeros(16), "length 0"),
        (np.full(16, np.nan), "length nan"),
        (np.ones(8), r"expected \(16,\)"),
    ],
)
def test_what_is_no_vector_is_refused(material, vector, words):
    with pytest.raises(InputError, match=words):
        vector_file(vector, material.codes, material.model_id)


def test_numbers_that_half_precision_cannot_hold_are_refused():
    with pytest.raises(InputError, match="half precision"), np.errstate(over="ignore"):
        vector_bytes(np.array([1e6]), "00" * 32)
