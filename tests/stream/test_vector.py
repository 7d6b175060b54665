import numpy as np
import pytest

from elasticrec.errors import InputError
from elasticrec.stream.vector import vector_bytes, vector_file
from tests.stream.damage import MODEL, sound
from tests.stream.reference import Reference

ROTATION = np.linalg.qr(np.random.default_rng(0).normal(size=(16, 16)))[0].astype(np.float32)


def test_a_device_reads_the_rotated_vector_of_length_1():
    vector = np.random.default_rng(1).normal(size=16) * 7
    written = vector_file(vector, ROTATION, MODEL)
    read = Reference(sound()).read_vector(written)
    turned = vector @ ROTATION
    np.testing.assert_allclose(read, turned / np.linalg.norm(turned), atol=5e-4)
    assert len(written) == 48 + 2 * 16
    assert vector_file(vector, ROTATION, MODEL) == written


@pytest.mark.parametrize(
    ("vector", "words"),
    [
        (np.zeros(16), "length 0"),
        (np.full(16, np.nan), "length nan"),
        (np.ones(8), r"expected \(16,\)"),
    ],
)
def test_a_vector_without_a_direction_is_refused(vector, words):
    with pytest.raises(InputError, match=words):
        vector_file(vector, ROTATION, MODEL)


def test_numbers_that_half_precision_cannot_hold_are_refused():
    with pytest.raises(InputError, match="half precision"), np.errstate(over="ignore"):
        vector_bytes(np.array([1e6]), MODEL)
