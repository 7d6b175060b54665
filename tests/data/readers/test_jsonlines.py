import gzip
import json
import re

import pytest

from elasticrec.data.readers import tables
from elasticrec.data.readers.columns import Columns
from elasticrec.data.readers.sources import read as read_json_lines
from elasticrec.errors import InputError


def review(user, business, stars=4.0, date="2018-07-07 22:09:11", **more):
    fields = {"review_id": "r", "user_id": user, "business_id": business, "stars": stars}
    return json.dumps({**fields, "useful": 0, "text": "Nice\nplace \u00e9", "date": date, **more})


def written(folder, lines, name="review.json"):
    data = "\n".join(lines).encode() + b"\n"
    path = folder / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


GOOD = [
    review("mh_-eMZ6K5RLWhZyISBhwA", "XQfwVwDr-v0ZS3_CbbE5Xw", 3.0),
    review("mh_-eMZ6K5RLWhZyISBhwA", "b2", 5.0, "2017-01-01 00:00:00", extra={"a": [1]}),
    review("u2", "b2", 1),
    review("u2", "b2", 5.0, "2016-01-01 00:00:00"),
]


@pytest.mark.parametrize("name", ["review.json", "review.json.gz"])
@pytest.mark.parametrize("chunk", [50, 300, 10**7])
def test_reviews_in_chunks_of_any_size(tmp_path, monkeypatch, name, chunk):
    monkeypatch.setattr(tables, "CHUNK_BYTES", chunk)
    whole = read_json_lines(written(tmp_path, GOOD, name))
    assert whole.user_ids.values.tolist() == ["mh_-eMZ6K5RLWhZyISBhwA", "u2"]
    assert whole.item_ids.values.tolist() == ["XQfwVwDr-v0ZS3_CbbE5Xw", "b2"]
    assert whole.pairs.items.tolist() == [0, 1, 1]
    seconds = [1_531_001_351, 1_483_228_800, 1_451_606_400]  # the earlier of the two u2 wrote
    assert whole.times.tolist() == [second * 1_000_000 for second in seconds]


def test_only_reviews_with_enough_stars(tmp_path):
    whole = read_json_lines(written(tmp_path, GOOD), Columns(min_rating=5))
    assert whole.pairs.per_user.tolist() == [1, 1]
    assert len(whole.item_ids) == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"user_id": "u"', "line 3: is not a JSON object, expected one per line"),
        ("[1, 2]", "line 3: is not a JSON object"),
        ("user,item", "line 3: is not a JSON object"),
        (json.dumps({"user_id": "u", "stars": 3}), "line 3: the item is missing"),
        (review(None, "b"), "line 3: the user is missing"),
        (review("u", "b", stars=None), "line 3: rating None is not a number"),
        (review("u", "b", stars="many"), "line 3: rating 'many' is not a number"),
        (review("u", "b", date="yesterday"), "line 3: time 'yesterday' is not usable"),
    ],
)
def test_a_bad_line_is_named(tmp_path, monkeypatch, line, message):
    monkeypatch.setattr(tables, "CHUNK_BYTES", 200)
    path = written(tmp_path, [GOOD[0], "", line, GOOD[1]])
    with pytest.raises(InputError, match=re.escape(f"{path} {message}")) as caught:
        read_json_lines(path, Columns(min_rating=1))
    assert "\n" not in str(caught.value)


def test_amazon_reviews(tmp_path):
    lines = ['{"reviewerID": "A", "asin": "007", "overall": 5.0, "unixReviewTime": 9}',
             '{"asin": 12, "reviewerID": "B", "unixReviewTime": 4}']  # fmt: skip
    whole = read_json_lines(written(tmp_path, lines))
    assert whole.item_ids.values.tolist() == ["007", "12"]
    assert whole.times.tolist() == [9, 4]


def test_named_fields(tmp_path):
    path = written(tmp_path, ['{"who": 1, "what": 2}', '{"who": 3, "what": 2}'])
    with pytest.raises(InputError, match="found columns 'who', 'what'; expected a user column"):
        read_json_lines(path)
    assert read_json_lines(path, Columns("who", "what")).user_ids.values.tolist() == [1, 3]


def test_a_first_line_that_is_no_object_is_named(tmp_path):
    with pytest.raises(InputError, match=r"line 2: is not a JSON object"):
        read_json_lines(written(tmp_path, ["", "user,item", "1,2"]))


def test_empty_and_cut_files(tmp_path):
    path = written(tmp_path, [""])
    with pytest.raises(InputError, match="has no rows"):
        read_json_lines(path)
    path = written(tmp_path, GOOD, "review.json.gz")
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(InputError, match="whole gzip file"):
        read_json_lines(path)
