import datetime as dt
import gzip
import re

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.data.readers.columns import Columns
from elasticrec.data.readers.sources import read as read_table
from elasticrec.errors import InputError


def written(folder, content, name="ratings.csv"):
    path = folder / name
    data = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def cells(whole):
    """The pairs in original ids."""
    users = [whole.user_ids.of_number(u) for u in whole.pairs.users]
    return list(zip(users, [whole.item_ids.of_number(i) for i in whole.pairs.items], strict=True))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("ratings.csv", "user_id,item_id\n5,b\n3,a\n5,a\n5,b\n"),
        ("ratings.csv.gz", "user_id,item_id\n5,b\n3,a\n5,a\n5,b\n"),
        ("ratings.tsv", "x\tuserId\tmovieId\n9\t5\tb\n9\t3\ta\n9\t5\ta\n"),
        ("ratings.tsv.gz", "user\titem\n5\tb\n3\ta\n5\ta\n"),
        ("semicolons.csv", "User ID;Item-Id\r\n5;b\r\n3;a\r\n5;a\r\n"),
        ("bom.csv", b"\xef\xbb\xbfuser,item\n5,b\n3,a\n5,a\n"),
        ("spaces.csv", "user, item\n5, b\n3 ,a\n5,a \n"),
        ("quoted.csv", '"user","note","item"\n"5","x,\ny","b"\n3,,a\n5,"q",a\n'),
        ("blank.csv", "\nuser,item\n\n5,b\n3,a\n\n\n5,a\n\n"),
        ("noend.csv", "user,item\n5,b\n3,a\n5,a"),
    ],
)
def test_one_world_in_many_spellings(tmp_path, name, content):
    whole = read_table(written(tmp_path, content, name))
    assert cells(whole) == [(3, "a"), (5, "a"), (5, "b")]
    whole.pairs.check()


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("history.dat", "User_ID\tAnime_ID\tFeedback\n5\tb\t1\n3\ta\t1\n5\ta\t1\n", {}),
        ("ml.inter", "user_id:token\titem_id:token\tx:float\n5\tb\t1\n3\ta\t1\n5\ta\t1\n", {}),
        ("log.csv", "event_time,visitorid,sku\n9,5,b\n9,3,a\n9,5,a\n", {}),
        ("spaces.data", "user item\n5 b\n3 a\n5 a\n", {}),
        ("ratings.dat", "5::b::5::978300760\n3::a::3::978302109\n5::a::1::978301968\n", {}),
        ("ratings.dat.gz", "5::b::5::9\n\n3::a::3::8\n5::a::1::7\n", {}),
        ("u.data", "b\t5\t1\na\t3\t2\na\t5\t2\n", {"names": ("item", "user")}),
        ("bom.csv", b"\xef\xbb\xbf5,b\n3,a\n5,a\n", {"names": ("user", "item")}),
        ("short.csv", "item,user,note\nb,5\na,3,x\na,5\n", {}),
        ("odd.csv", "item#user\nb#5\na#3\na#5\n", {"separator": "#"}),
        ("odd.csv", "b<>5\na<>3\na<>5\n", {"names": ("item", "user"), "separator": "<>"}),
    ],
)
def test_tables_as_people_have_them(tmp_path, name, content, options):
    whole = read_table(written(tmp_path, content, name), Columns(**options))
    assert cells(whole) == [(3, "a"), (5, "a"), (5, "b")]


def test_movielens_has_ratings_and_times(tmp_path):
    path = written(tmp_path, "1::10::5::30\n1::11::2::20\n2::10::4::10\n", "ratings.dat")
    whole = read_table(path, Columns(min_rating=4))
    assert cells(whole) == [(1, 10), (2, 10)]
    assert whole.times.tolist() == [30, 10]


def test_the_order_of_rows_is_kept_where_asked_for(tmp_path):
    path = written(tmp_path, "user,item\n1,30\n2,5\n1,10\n1,20\n1,30\n")
    assert read_table(path).pairs.order is None
    ordered = read_table(path, Columns(ordered=True))
    assert ordered.item_ids.values[ordered.pairs.history()[0]].tolist() == [30, 10, 20]


@pytest.mark.parametrize("spelled", ["nan", "NULL", "None", "N/A"])
def test_an_id_that_looks_missing_is_read_with_a_warning(tmp_path, caplog, spelled):
    path = written(tmp_path, f"user,item\n1,x\n{spelled},y\n{spelled},x\n")
    assert read_table(path).user_ids.values.tolist() == sorted(["1", spelled])
    expected = f"{path}: the user {spelled!r} looks like a missing id, kept"
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        expected
    ]


def test_parquet(tmp_path):
    path = tmp_path / "ratings.parquet"
    pl.DataFrame({"user": ["x", "y"], "n": [1, 2], "item": [2**40, 7]}).write_parquet(path)
    whole = read_table(path)
    assert cells(whole) == [("x", 2**40), ("y", 7)]
    assert whole.name == "ratings"


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_a_path_is_not_a_pattern(tmp_path, end):
    path = tmp_path / f"[a]*?.{end}"
    frame = pl.DataFrame({"user": [1, 2], "item": [3, 4]})
    frame.write_parquet(path) if end == "parquet" else frame.write_csv(path)
    assert read_table(path).item_ids.values.tolist() == [3, 4]


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (["1", "10", "2"], [1, 2, 10]),
        (["1", "10", "007"], ["007", "1", "10"]),
        (["1", "10", "x"], ["1", "10", "x"]),
        (["-1", "10", "0"], [-1, 0, 10]),
        (["1", str(2**63), "5"], [1, 5, 2**63]),
        (["1", str(10**30), str(2**63)], [1, 2**63, 10**30]),
        (["1", "1.0", "2"], ["1", "1.0", "2"]),
        (["1e3", "10", "+2"], ["+2", "10", "1e3"]),
        (["é", "z", "日本"], ["z", "é", "日本"]),
    ],
)
def test_ids_are_whole_numbers_only_where_no_spelling_is_lost(tmp_path, column, values):
    rows = "".join(f"{user},i{k}\n" for k, user in enumerate(column))
    whole = read_table(written(tmp_path, "user,item\n" + rows))
    assert whole.user_ids.values.tolist() == values
    spelled = [str(user) for user, _ in sorted(cells(whole), key=lambda cell: cell[1])]
    assert spelled == column


@given(st.lists(st.tuples(st.integers(-(10**25), 10**25), st.integers(0, 9)), min_size=1))
@settings(deadline=None, max_examples=30)
def test_integers_of_any_size_come_back(tmp_path_factory, rows):
    text = "user,item\n" + "".join(f"{user},{item}\n" for user, item in rows)
    whole = read_table(written(tmp_path_factory.mktemp("t"), text))
    assert cells(whole) == sorted(set(rows))


def test_a_threshold_on_ratings(tmp_path):
    path = written(tmp_path, "user,item,rating\n1,1,5\n1,2,3.5\n1,3, 4.0\n2,1,0\n")
    assert cells(read_table(path, Columns(min_rating=4))) == [(1, 1), (1, 3)]
    assert len(read_table(path).pairs) == 4
    assert len(read_table(path, Columns(rating="rating")).pairs) == 4


def test_users_left_without_a_liked_item_are_no_users(tmp_path):
    whole = read_table(written(tmp_path, "user,item,stars\n1,1,5\n2,7,1\n"), Columns(min_rating=4))
    assert (len(whole.user_ids), len(whole.item_ids)) == (1, 1)


def test_named_columns(tmp_path):
    path = written(tmp_path, "user,item,who,what,liked,when\n0,0,a,b,1,3\n0,0,a,c,0,1\n")
    whole = read_table(path, Columns("who", "what", "liked", "when", min_rating=1))
    assert cells(whole) == [("a", "b")]
    assert whole.times.tolist() == [3]


DAY = 86_400_000_000


@pytest.mark.parametrize(
    ("texts", "times"),
    [
        (["30", "10"], [30, 10]),
        (["0.5", "10"], [500_000, 10_000_000]),
        (["1970-01-02", "1970-01-03"], [DAY, 2 * DAY]),
        (["1970-01-02 00:00:01", "1970-01-01 00:00:00"], [DAY + 1_000_000, 0]),
        (["1970-01-02T00:00:00Z", "1970-01-01T01:00:00+01:00"], [DAY, 0]),
        (["1970/01/02", "1970/01/01"], [DAY, 0]),
        (["1/13/1970", "1/2/1970"], [12 * DAY, DAY]),
        (["13/1/1970 0:00:01", "2/1/1970 0:00"], [12 * DAY + 1_000_000, DAY]),
        (["3.1.1970", "02.01.1970 00:00"], [2 * DAY, DAY]),
    ],
)
def test_times_of_many_kinds(tmp_path, texts, times):
    rows = "".join(f"1,{k},{text}\n" for k, text in enumerate(texts))
    whole = read_table(written(tmp_path, "user,item,time\n" + rows))
    assert whole.times.tolist() == times


@pytest.mark.parametrize("kind", [dt.datetime, dt.date])
def test_times_in_parquet(tmp_path, kind):
    path = tmp_path / "x.parquet"
    when = [kind(1970, 1, 3), kind(1970, 1, 2)]
    pl.DataFrame({"user": [1, 1], "item": [1, 2], "when": when}).write_parquet(path)
    assert read_table(path, Columns(time="when")).times.tolist() == [2 * DAY, DAY]


def test_a_repeated_pair_keeps_its_earliest_time(tmp_path):
    path = written(tmp_path, "user,item,time\n1,1,30\n1,1,10\n1,1,20\n")
    whole = read_table(path)
    assert whole.times.tolist() == [10]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("a,b\n1,2\n", {}, "found columns 'a', 'b'; expected a user column such as 'user'"),
        ("user,b\n1,2\n", {}, "found columns 'user', 'b'; expected an item column such as 'item'"),
        ("user,item\n1,2\n", {"user": "x"}, "expected user column 'x'"),
        ("user,item\n1,2\n", {"min_rating": 3}, "expected a rating column such as 'rating'"),
        ("user,item\n1,2\n", {"rating": "r"}, "expected rating column 'r'"),
        ("user,item\n1,2\n", {"time": "t"}, "expected time column 't'"),
        ("user,item\n1,2\n", {"item": "user"}, "columns 'user', 'user' are not all different"),
        ("user,item,user\n1,2,3\n", {}, "column 'user' is there 2 times, expected once"),
        ("user_id,item,User ID\n1,2,3\n", {}, "column 'user_id' is there 2 times"),
        ("user,item\n1,2\n,4\n", {}, "line 3: the user is missing, expected an id in every row"),
        ("user,item\n1,2\n3,\n", {}, "line 3: the item is missing"),
        ('user,item\n1,2\n\n"",4\n', {}, "line 4: the user is missing"),
        ('user,note,item\n1,"a\nb\nc",2\n  ,,4\n', {}, "line 5: the user is missing"),
        ("user,item\n1,2\n,\n", {}, "line 3: user and item are missing, expected both"),
        ("user,item,x\n1,2,3\n4\n", {}, "line 3: the item is missing"),
        ("user,item\n1,2\n3,4,5\n", {}, "line 3: has 3 fields, expected 2"),
        ("user,item\n", {}, "has no rows, expected interactions"),
        ("", {}, "is empty"),
        (" \n \n", {}, "is empty"),
        ("user,item,rating\n1,2,3\n1,3,good\n", {"min_rating": 2}, "line 3: rating 'good' is not"),
        ("user,item,rating\n1,2,3\n1,3,\n", {"min_rating": 2}, "line 3: rating None is not"),
        ("user,item,rating\n1,2,nan\n", {"min_rating": 2}, "line 2: rating 'nan' is not a number"),
        ("user,item,rating\n1,2,3\n", {"min_rating": 4}, "no rating is 4 or more"),
        (
            "user,item,time\n1,2,5\n1,3,soon\n",
            {},
            "line 3: time 'soon' is not usable",
        ),
        ("user,item,time\n1,2,x\n", {}, "line 2: time 'x' is not usable"),
        ("user,item,time\n1,2,01/02/2020\n", {}, "line 2: time '01/02/2020' is not"),
        ("user,item,time\n1,2,2020-01-01\n1,3,2020-99-01\n", {}, "line 3: time"),
        ("user,item,time\n1,2,\n", {}, "line 2: time None is not usable"),
        ("user,item,time\n1,2,3\n1,3,-1\n", {}, "line 3: time '-1' is not usable"),
        ("user,item,time\n1,2,nan\n", {}, "line 2: time 'nan' is not usable"),
        (
            "1,2\n3,4\n",
            {},
            "(option user names yours); a table without a header needs",
        ),
        (
            "1,2\n",
            {"names": ("user", "x", "item")},
            "has 2 columns separated by ',', expected",
        ),
        ("1::2\n3::x::4\n", {}, "line 2: has 3 fields, expected 2"),
        (b"user,item\n1,2\n\xff\xfe,3\n", {}, "line 3: is not UTF-8 text"),
        (b"\x00\x01\x02binary", {}, "is a binary or packed file, or text in UTF-16, expected"),
        ("user,item\n1,2\n".encode("utf-16"), {}, "or text in UTF-16, expected a text table"),
        (gzip.compress(b"user,item\n1,2\n"), {}, "is a binary or packed file"),
        (b"PK\3\4\0", {}, "is a binary or packed file"),
        (b"PAR1\0", {}, "is a binary or packed file"),
        (b"x" * 1_100_000, {}, "has no line feeds"),
        (b"user,item\r1,2\r3,4\r", {}, "has no line feeds"),
        ("user,item,time\n1,2,3/4/2020\n1,3,4/3/2020\n", {}, "line 2: time '3/4/2020' is not us"),
        ("user,item,time\n1,2,13/4/2020\n1,3,4/13/2020\n", {}, "line 2: time '13/4/2020' is not"),
        ('user,item\n1,2\n"3,4\n', {}, "is not a sound table"),
    ],
)
def test_bad_tables_are_refused_in_one_line(tmp_path, content, options, message):
    path = written(tmp_path, content)
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        read_table(path, Columns(**options))
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_a_bad_row_far_down_is_found(tmp_path):
    rows = "".join(f"{k % 97},{k}\n" for k in range(50_000))
    with pytest.raises(InputError, match="line 50002: the user is missing"):
        read_table(written(tmp_path, "user,item\n" + rows + ",1\n", "big.csv.gz"))


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"user": [1, None], "item": [1, 2]}, "row 2: the user is missing"),
        ({"user": [1.5], "item": [1]}, "users are fractions, expected whole numbers or text"),
        ({"user": [True], "item": [1]}, "users are of type Boolean, expected whole numbers"),
        ({"user": [[1]], "item": [1]}, "users are of type List"),
        ({"user": [1], "other": [1]}, "expected an item column"),
    ],
)
def test_bad_parquet_is_refused(tmp_path, frame, message):
    path = tmp_path / "x.parquet"
    pl.DataFrame(frame).write_parquet(path)
    with pytest.raises(InputError, match=re.escape(message)):
        read_table(path)


def test_no_parquet_at_all_or_a_cut_one(tmp_path):
    path = tmp_path / "x.parquet"
    pl.DataFrame({"user": [1], "item": [2]}).write_parquet(path)
    for content in (b"user,item\n1,2\n", path.read_bytes()[:-30], path.read_bytes()[:20]):
        path.write_bytes(content)
        with pytest.raises(InputError, match="is not a sound Parquet file"):
            read_table(path)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2019-10-01 00:00:00 UTC", 1_569_888_000),
        ("2019-10-01T02:00:00+02:00", 1_569_888_000),
        ("2019-10-01T00:00:00Z", 1_569_888_000),
        ("2019-10-01 00:00:00 +0000", 1_569_888_000),
        ("2019-10-01", 1_569_888_000),
        ("2019/10/01 00:00", 1_569_888_000),
    ],
)
def test_dates_as_logs_write_them(tmp_path, text, seconds):
    path = written(tmp_path, f"user,item,event_time\n1,1,{text}\n1,2,2019-10-01T00:00:01.5Z\n")
    assert read_table(path).times.tolist() == [seconds * 1_000_000, 1_569_888_001_500_000]
