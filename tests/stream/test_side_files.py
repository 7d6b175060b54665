import json

import numpy as np
import pytest

from elasticrec.data.ids import Ids
from elasticrec.errors import InputError
from elasticrec.stream.format import StreamError
from elasticrec.stream.side_files import WithdrawnList, catalogue, public_bytes, vector_bytes
from tests.stream.damage import KEY, MODEL, sound
from tests.stream.hostile_beside import withdrawn_lists
from tests.stream.reference import Reference


def test_a_device_reads_the_vector_that_was_written():
    vector = np.random.default_rng(1).normal(size=16) / 16
    written = vector_bytes(vector, MODEL)
    np.testing.assert_allclose(Reference(sound()).read_vector(written), vector, atol=5e-4)
    assert len(written) == 48 + 2 * 16
    assert vector_bytes(vector, MODEL) == written


def test_numbers_that_half_precision_cannot_hold_are_refused():
    with pytest.raises(InputError, match="half precision"), np.errstate(over="ignore"):
        vector_bytes(np.array([1e6]), MODEL)


@pytest.mark.parametrize("numbers", [[], [0], [1, 4, 10]])
@pytest.mark.parametrize("key", [None, KEY])
def test_a_list_is_read_as_it_was_written(numbers, key):
    made = WithdrawnList(MODEL, np.array(numbers, dtype=np.int64), sequence=2**40)
    packed = made.pack(key)
    read = WithdrawnList.unpack(packed)
    assert (read.model_id, read.numbers.tolist(), read.sequence) == (MODEL, numbers, 2**40)
    public = None if key is None else public_bytes(key)
    assert Reference(sound(), key=public, withdrawn=packed).withdrawn == set(numbers)


@pytest.mark.parametrize("case", list(withdrawn_lists()), ids=lambda case: case.name)
def test_hostile_lists_are_refused(case):
    if case.key or case.name in ("withdrawn-model", "withdrawn-outside"):
        return  # only a reader with a stream can tell
    with pytest.raises(StreamError):
        WithdrawnList.unpack(case.data)


@pytest.mark.parametrize("numbers", [[3, 3], [4, 3], [-1], [2**26]])
def test_numbers_that_break_the_format_are_not_written(numbers):
    with pytest.raises(StreamError):
        WithdrawnList(MODEL, np.array(numbers)).pack()


def test_a_catalogue_holds_ids_and_titles_in_item_order():
    titles = np.array(["Ünder", ""], dtype=object)
    written = catalogue(Ids.of([2**63, 4]), titles, "ab")
    assert json.loads(written) == {
        "format": "elasticrec catalogue 1",
        "model_id": "ab",
        "id_kind": "integer",
        "ids": ["9223372036854775808", "4"],
        "titles": ["Ünder", None],
    }
    assert "Ünder".encode() in written
    untitled = json.loads(catalogue(Ids.of(["x"]), None, "ab"))
    assert (untitled["id_kind"], untitled["titles"]) == ("text", None)
