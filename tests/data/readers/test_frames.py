import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

from elasticrec.data.readers.columns import Columns
from elasticrec.data.readers.frames import from_frame
from elasticrec.errors import InputError

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame}


def cells(whole):
    users = [whole.user_ids.of_number(u) for u in whole.pairs.users]
    return list(zip(users, [whole.item_ids.of_number(i) for i in whole.pairs.items], strict=True))


@pytest.fixture(params=FRAMES)
def frame(request):
    return FRAMES[request.param]


@pytest.mark.parametrize(
    ("users", "items", "expected"),
    [
        ([2, 1, 2], ["b", "a", "b"], [(1, "a"), (2, "b")]),
        (["007", "7"], [1, 2], [("007", 1), ("7", 2)]),
        (["7", "12"], [1, 2], [(7, 1), (12, 2)]),
        ([1.0, 2.0], [1, 2], [(1, 1), (2, 2)]),
        ([2**63, 5], [1, 2], [(5, 2), (2**63, 1)]),
        (np.array([3, 4], dtype=np.uint8), np.array([-1, 2], dtype=np.int16), [(3, -1), (4, 2)]),
    ],
)
def test_columns_of_many_types(frame, users, items, expected):
    whole = from_frame(frame({"user": users, "item": items}))
    whole.pairs.check()
    assert cells(whole) == expected


def test_ratings_and_times(frame):
    whole = from_frame(
        frame(
            {
                "who": ["a", "a", "b"],
                "what": [1, 1, 2],
                "stars": [5.0, 4.5, 1.0],
                "when": np.array(["1970-01-03", "1970-01-02", "1970-01-01"], dtype="M8[us]"),
            }
        ),
        Columns("who", "what", "stars", "when", min_rating=4),
        name="shop",
    )
    assert cells(whole) == [("a", 1)]
    assert whole.times.tolist() == [86_400_000_000]
    assert whole.name == "shop"


def test_categories():
    kinds = pd.DataFrame({"user": pd.Categorical(["x", "y"]), "item": pd.Categorical([5, 6])})
    assert cells(from_frame(kinds)) == [("x", 5), ("y", 6)]
    polars = pl.DataFrame({"user": pl.Series(["x", "y"], dtype=pl.Categorical), "item": [5, 6]})
    assert cells(from_frame(polars)) == [("x", 5), ("y", 6)]


def test_nullable_and_arrow_columns_of_pandas():
    nullable = pd.DataFrame(
        {"user": pd.array([1, 2], dtype="Int64"), "item": pd.array(["a", "b"], dtype="string")}
    )
    assert cells(from_frame(nullable)) == [(1, "a"), (2, "b")]


def test_a_pandas_index_does_not_matter():
    shuffled = pd.DataFrame({"user": [1, 2, 3], "item": [4, 5, 6]}, index=[9, 9, 1])
    assert cells(from_frame(shuffled)) == [(1, 4), (2, 5), (3, 6)]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"user": ["a", None], "item": [1, 2]}, "shop row 1: the user is missing"),
        ({"user": [1, None], "item": [1, 2]}, "shop row 1: the user is missing"),
        ({"user": [1.0, float("nan")], "item": [1, 2]}, "shop row 1: the user is missing"),
        ({"user": [1, 2], "item": ["", "x"]}, "shop row 0: the item is missing"),
        ({"user": [0.5, 2], "item": [1, 2]}, "users are fractions"),
        ({"user": [True, False], "item": [1, 2]}, "users are of type Boolean"),
        ({"who": [1], "item": [1]}, "shop: found columns 'who', 'item'; expected a user column"),
        ({"user": [], "item": []}, "shop: has no rows"),
    ],
)
def test_bad_frames_are_refused(frame, columns, message):
    with pytest.raises(InputError, match=re.escape(message)):
        from_frame(frame(columns), name="shop")


def test_mixed_types_in_pandas_are_refused():
    mixed = pd.DataFrame({"user": [1, "a"], "item": [1, 2]})
    with pytest.raises(InputError, match="'user' mixes values of type int, str, expected one type"):
        from_frame(mixed)


def test_what_is_no_frame_is_refused():
    with pytest.raises(InputError, match="expected a pandas or polars frame"):
        from_frame([[1, 2]])


def test_a_lazy_frame_is_collected():
    assert cells(from_frame(pl.LazyFrame({"user": [1], "item": [2]}))) == [(1, 2)]
