"""`where` and `weight`: the rows and weights that expressions choose, from every kind of table."""

import json
import logging
import re

import polars as pl
import pytest

from elasticrec.data.readers.columns import Columns
from elasticrec.data.readers.frames import from_frame
from elasticrec.data.readers.sources import read
from elasticrec.errors import InputError

LOG = {
    "visitorid": [1, 1, 1, 2, 2],
    "itemid": [7, 7, 8, 8, 9],
    "event": ["view", "buy", "view", "buy", "cart"],
    "seconds": ["5", "", "60", "7.5", "1"],
    "timestamp": [1, 2, 3, 4, 5],
}
WEIGHT = "CASE event WHEN 'buy' THEN 5 WHEN 'cart' THEN 2 ELSE 1 END"


@pytest.fixture(params=["csv", "parquet", "json", "frame"])
def log(request, tmp_path):
    """The log in one of its forms, as a function of the columns to read."""
    frame, path = pl.DataFrame(LOG), tmp_path / f"log.{request.param}"
    if request.param == "frame":
        return lambda columns: from_frame(frame, columns)
    if request.param == "json":
        path.write_text("".join(json.dumps(row) + "\n" for row in frame.to_dicts()))
    else:
        getattr(frame, f"write_{request.param}")(path)
    return lambda columns: read(path, columns)


def cells(whole):
    users = [whole.user_ids.of_number(user) for user in whole.pairs.users]
    return list(zip(users, whole.item_ids.values[whole.pairs.items].tolist(), strict=True))


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("event = 'buy'", [(1, 7), (2, 8)]),
        ("event == 'buy' OR visitorid = 2", [(1, 7), (2, 8), (2, 9)]),
        ("event IN ('view', 'cart') AND seconds >= 5", [(1, 7), (1, 8)]),
        ("seconds > 6", [(1, 8), (2, 8)]),  # text of numbers counts as numbers
    ],
)
def test_rows_that_meet_a_condition(log, caplog, where, expected):
    with caplog.at_level(logging.INFO):
        assert cells(log(Columns(where=where))) == expected
    assert f"of 5 rows where {where!r} does not hold" in caplog.text


def test_weights_add_up_over_repeats(log):
    whole = log(Columns(weight=WEIGHT))
    assert dict(zip(cells(whole), whole.pairs.weights.tolist(), strict=True)) == {
        (1, 7): 6, (1, 8): 1, (2, 8): 5, (2, 9): 2,
    }  # fmt: skip
    assert whole.times.tolist() == [1, 3, 4, 5]
    whole.pairs.check()


def test_rows_of_weight_0_are_left_out(log, caplog):
    with caplog.at_level(logging.INFO):
        whole = log(Columns(where="visitorid = 1", weight="event = 'buy'"))
    assert cells(whole) == [(1, 7)]
    assert "left out 2 of 3 rows of weight 0" in caplog.text


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"where": "kind = 'buy'"}, "'timestamp'; expected column 'kind'"),
        ({"where": "event = 'sold'"}, "no row meets \"event = 'sold'\"; 'event' has values like"),
        ({"where": "event = 5"}, "where 'event = 5' cannot be used (cannot compare string with"),
        ({"where": "seconds"}, "where 'seconds': gives Float64, expected a condition in SQL such"),
        ({"where": "event ="}, "where 'event =': "),
        ({"where": "1 = 1"}, "where '1 = 1': names no column, expected a condition"),
        ({"where": "os.system('x')"}, "expected a condition in SQL"),
        ({"weight": "event"}, "weight 'event' gives String, expected numbers; 'event' has values"),
        ({"weight": "seconds"}, "weight 'seconds' gives None for 1 rows, expected finite numbers"),
        ({"weight": "-visitorid"}, "gives -1.0 for 5 rows, expected finite numbers from 0"),
        ({"weight": "visitorid / 0"}, "gives inf for 5 rows"),
        ({"weight": "0 * visitorid"}, "is 0 for every row, expected some above 0"),
        ({"weight": "sum(visitorid)"}, "has one value for all rows, expected a column"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(log, columns, message):
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        log(Columns(**columns))
    assert "\n" not in str(caught.value)


def test_a_bad_id_behind_left_out_rows_is_named_by_its_line(tmp_path):
    (tmp_path / "log.csv").write_text("user,item,event\n1,2,view\n1,,buy\n")
    with pytest.raises(InputError, match=r"log.csv line 3: the item is missing"):
        read(tmp_path / "log.csv", Columns(where="event = 'buy'"))
    (tmp_path / "log.csv").write_text("user,item,rating,time\n1,2,1,5\n1,3,5,never\n")
    with pytest.raises(InputError, match=r"log.csv line 3: time 'never' is not usable"):
        read(tmp_path / "log.csv", Columns(min_rating=3))


def test_a_weight_is_to_be_a_number_in_the_chosen_rows_alone(tmp_path):
    (tmp_path / "log.csv").write_text("user,item,stars\n1,2,4\n1,3,none\n1,4,2\n")
    whole = read(tmp_path / "log.csv", Columns(where="stars <> 'none'", weight="stars"))
    assert whole.pairs.weights.tolist() == [4, 2]
