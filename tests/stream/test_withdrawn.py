import numpy as np
import pytest

from elasticrec.stream.format import StreamError
from elasticrec.stream.signing import public_bytes
from elasticrec.stream.withdrawn import WithdrawnList
from tests.stream.damage import KEY, MODEL, SOUND, sound
from tests.stream.golden import withdrawn
from tests.stream.hostile import STRANGER
from tests.stream.hostile_beside import withdrawn_lists
from tests.stream.reference import Reference


@pytest.mark.parametrize("numbers", [[], [0], [1, 4, 10]])
@pytest.mark.parametrize("key", [None, KEY])
def test_a_list_is_read_as_it_was_written(numbers, key):
    made = WithdrawnList(MODEL, np.array(numbers, dtype=np.int64), sequence=2**40)
    packed = made.pack(key)
    read = WithdrawnList.unpack(packed, None if key is None else public_bytes(key))
    assert (read.model_id, read.numbers.tolist(), read.sequence) == (MODEL, numbers, 2**40)
    assert Reference(sound(), withdrawn=packed).withdrawn == set(numbers)


@pytest.mark.parametrize("case", list(withdrawn_lists()), ids=lambda case: case.name)
def test_hostile_lists_are_refused(case):
    if case.name in ("withdrawn-model", "withdrawn-outside"):
        return  # only a reader with a stream can tell
    with pytest.raises(StreamError):
        WithdrawnList.unpack(case.data, public_bytes(KEY) if case.key else None)


def test_a_list_of_another_key_is_refused():
    with pytest.raises(StreamError, match="not of the given key"):
        WithdrawnList.unpack(withdrawn(SOUND), public_bytes(STRANGER))


@pytest.mark.parametrize("numbers", [[3, 3], [4, 3], [-1], [2**26]])
def test_numbers_that_break_the_format_are_not_written(numbers):
    with pytest.raises(StreamError):
        WithdrawnList(MODEL, np.array(numbers)).pack()
