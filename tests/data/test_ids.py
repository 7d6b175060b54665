import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.data.ids import Ids

IDS = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), unique=True, max_size=20),
    st.lists(st.integers(-(2**90), 2**90), unique=True, max_size=20),
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), unique=True),
)


@given(IDS)
@settings(deadline=None, max_examples=60)
def test_ids_come_back_as_they_were(values):
    ids = Ids.of(values)
    back = Ids.from_arrays("x", ids.arrays("x"))
    assert [back.of_number(k) for k in range(len(back))] == values
    assert [type(back.of_number(k)) for k in range(len(back))] == [type(v) for v in values]
    assert ids.numbers(values).tolist() == list(range(len(values)))


def test_small_ints_are_int64_and_large_ones_are_not_cut():
    assert Ids.of([3, 1]).values.dtype == np.int64
    large = Ids.of([2**63, 1])
    assert large.values.dtype == object
    assert large.of_number(0) == 2**63
    assert large.numbers([str(2**63), 2**63, 5]).tolist() == [0, 0, -1]


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.uint64])
def test_numpy_integers_of_any_width(dtype):
    ids = Ids.of(np.array([7, 3], dtype=dtype))
    assert ids.values.dtype == np.int64
    assert ids.values.tolist() == [7, 3]


def test_unsigned_beyond_int64_stay_whole():
    ids = Ids.of(np.array([2**64 - 1, 1], dtype=np.uint64))
    assert ids.of_number(0) == 2**64 - 1
    assert isinstance(ids.of_number(1), int)


def test_look_up_of_integers():
    ids = Ids.of([30, 10, 20])
    wanted = [10, "20", "020", " 10", 99, "x", 2**70, 10.5, None, True]
    assert ids.numbers(wanted).tolist() == [1, 2, -1, -1, -1, -1, -1, -1, -1, -1]
    assert ids.numbers(np.array([20, 21, 30])).tolist() == [2, -1, 0]


def test_look_up_of_text_keeps_leading_zeros_apart():
    ids = Ids.of(["007", "7"])
    assert ids.numbers(["7", "007", 7, "07"]).tolist() == [1, 0, 1, -1]


def test_look_up_in_nothing():
    assert Ids.of([]).numbers([1, "a"]).tolist() == [-1, -1]


@pytest.mark.parametrize("values", [[1, "a"], [1.5], [True, False], [None]])
def test_mixed_or_strange_ids_are_refused(values):
    with pytest.raises(ValueError, match="expected all int or all str"):
        Ids.of(values)


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["1", "-2", "0"], [1, -2, 0]),
        (["1", "007"], ["1", "007"]),
        (["1", "+2"], ["1", "+2"]),
        (["1", "-0"], ["1", "-0"]),
        (["1", "a"], ["1", "a"]),
        ([str(2**70), "1"], [2**70, 1]),
    ],
)
def test_text_becomes_integers_only_where_no_spelling_is_lost(texts, values):
    assert Ids.from_text(texts).values.tolist() == values
