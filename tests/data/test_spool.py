import mmap

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.data import spool
from elasticrec.data.spool import Spool, in_ranges, release, room, stretches, taken


def is_mapped(array):
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, mmap.mmap)


@pytest.mark.parametrize("in_memory", [5, 100])
def test_a_column_is_the_same_in_memory_and_in_a_file(monkeypatch, in_memory):
    monkeypatch.setattr(spool, "IN_MEMORY", in_memory)
    column = Spool(np.int32)
    for start in (0, 4, 9):
        column.add(np.arange(start, start + (5 if start else 4)))
    values = column.array()
    assert (values.dtype, values.tolist()) == (np.int32, list(range(14)))
    assert is_mapped(values) == (in_memory == 5)
    values[3] = 70
    release(values)
    assert values.tolist()[:5] == [0, 1, 2, 70, 4]
    place = room(9, np.int64)
    place[:] = 1
    assert is_mapped(place) == (in_memory == 5)
    assert Spool(np.int8).array().tolist() == []


def test_stretches_cover_all_rows(monkeypatch):
    monkeypatch.setattr(spool, "AT_ONCE", 4)
    assert [(rows.start, rows.stop) for rows in stretches(9)] == [(0, 4), (4, 8), (8, 9)]
    assert taken(np.array([5, 6, 7]), np.array([2, 0, 1, 1, 2])).tolist() == [7, 5, 6, 6, 7]


@given(st.lists(st.integers(0, 9)), st.integers(1, 6))
@settings(deadline=None, max_examples=60)
def test_ranges_hold_all_rows_in_their_sequence(values, at_once):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spool, "AT_ONCE", at_once)
        patch.setattr(spool, "IN_MEMORY", 3)
        keys = np.array(values, dtype=np.uint32)
        found = list(in_ranges([keys, np.arange(len(keys))], 10))
    spans = [span for span, _ in found]
    assert [span.start for span in spans] == [0, *(span.stop for span in spans[:-1])]
    assert spans[-1].stop == 10
    for span, (key, place) in found:
        inside = [at for at, value in enumerate(values) if span.start <= value < span.stop]
        assert place.tolist() == inside
        assert key.tolist() == [values[at] for at in inside]
        assert len(set(key.tolist())) <= 1 or len(key) <= at_once + max(map(values.count, key))
