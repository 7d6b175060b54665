import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

from elasticrec.data.interactions import Ids, Interactions, Pairs
from elasticrec.data.readers.sources import with_titles
from elasticrec.errors import InputError


@pytest.fixture
def whole():
    pairs = Pairs.from_arrays(np.array([0, 0, 0]), np.arange(3), n_users=1, n_items=3)
    return Interactions(pairs, Ids.dense(1), Ids.of([7, 12, 30]))


@pytest.mark.parametrize(
    "content",
    [
        'item,title\n12,Twelve\n99,Other\n7,"Seven, or so"\n',
        "id;title\n12;Twelve\n7;Seven, or so\n",
        'movieId,genres,title\n12,x,Twelve\n7,y,"Seven, or so"\n30,z,\n',
    ],
)
def test_titles_by_id(whole, tmp_path, content):
    (tmp_path / "titles.csv").write_text(content)
    titled = with_titles(whole, tmp_path / "titles.csv")
    assert titled.titles.tolist() == ["Seven, or so", "Twelve", ""]
    assert titled.pairs is whole.pairs


def test_titles_of_movielens(whole, tmp_path):
    (tmp_path / "movies.dat").write_text('12::Heat (1995)::Action|Crime\n7::"Q", 1::x\n')
    assert with_titles(whole, tmp_path / "movies.dat").titles.tolist() == [
        '"Q", 1',
        "Heat (1995)",
        "",
    ]


def test_named_columns_and_parquet(whole, tmp_path):
    path = tmp_path / "titles.parquet"
    pl.DataFrame({"id": [30], "label": ["Thirty"], "title": ["no"]}).write_parquet(path)
    assert with_titles(whole, path, title="label").titles.tolist() == ["", "", "Thirty"]


def test_text_ids_keep_their_zeros(tmp_path):
    pairs = Pairs.from_arrays(np.array([0]), np.array([0]), n_users=1, n_items=1)
    (tmp_path / "t.csv").write_text("item,title\n7,wrong\n007,right\n")
    titled = with_titles(Interactions(pairs, Ids.dense(1), Ids.of(["007"])), tmp_path / "t.csv")
    assert titled.titles.tolist() == ["right"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("item,label\n7,x\n", "expected a title column such as 'title'"),
        ("key,title\n7,x\n", "expected an item column such as 'item'"),
        ("item,title\n8,x\n", "has a title for none of the items, expected ids like 7"),
        ("", "is empty"),
    ],
)
def test_bad_titles_are_refused(whole, tmp_path, content, message):
    (tmp_path / "t.csv").write_text(content)
    with pytest.raises(InputError, match=re.escape(message)):
        with_titles(whole, tmp_path / "t.csv")


@pytest.mark.parametrize("kind", [pl.DataFrame, pd.DataFrame])
def test_titles_of_a_frame(whole, kind):
    frame = kind({"movieId": [12, 99, 7], "title": ["Twelve", "Other", None]})
    assert with_titles(whole, frame).titles.tolist() == ["", "Twelve", ""]
    with pytest.raises(InputError, match="titles: found columns 'a'; expected an item column"):
        with_titles(whole, kind({"a": [1]}))
    with pytest.raises(InputError, match="titles: is of type dict, expected a pandas or polars"):
        with_titles(whole, {7: "Seven"})


def test_attributes_as_titles_from_one_json_object(whole, tmp_path):
    path = tmp_path / "item_attributes.json"
    path.write_text('{"7": [1, 2, 3], "12": "Twelve", "99": []}')
    assert with_titles(whole, path).titles.tolist() == ["1, 2, 3", "Twelve", ""]
    path.write_text('{"7": {"a": 1}}')
    with pytest.raises(InputError, match=r"item '7' has .*, expected a text or a list of attribu"):
        with_titles(whole, path)


def test_titles_from_json_lines(whole, tmp_path):
    path = tmp_path / "meta.jsonl"
    path.write_text('{"asin": "12", "title": "Twelve"}\n{"asin": "30"}\n')
    assert with_titles(whole, path).titles.tolist() == ["", "Twelve", ""]


def test_a_table_without_a_header_has_ids_and_titles_first(whole, tmp_path):
    (tmp_path / "u.item").write_bytes("7|Amélie|x\n30|Heat|y\n".encode("latin-1"))
    assert with_titles(whole, tmp_path / "u.item").titles.tolist() == ["Amélie", "", "Heat"]


def test_missing_titles_are_counted(whole, tmp_path, caplog):
    (tmp_path / "t.csv").write_text("item,title\n7,x\n")
    with caplog.at_level("INFO"):
        with_titles(whole, tmp_path / "t.csv")
    assert "has no title for 2 of 3 items" in caplog.text
