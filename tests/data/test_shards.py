"""Tables in many files, behind addresses, and prepared block by block."""

import re

import fsspec
import numpy as np
import polars as pl
import pytest

from elasticrec.data import pairs, spool
from elasticrec.data.preparation import PrepareConfig, prepare
from elasticrec.data.readers import tables
from elasticrec.data.readers.columns import Columns
from elasticrec.data.readers.sources import read
from elasticrec.data.split import Split
from elasticrec.errors import InputError


@pytest.fixture(scope="module")
def log():
    """Two thousand rows of a small shop, some of them repeated."""
    rng = np.random.default_rng(5)
    return pl.DataFrame(
        {
            "user": [f"customer-of-the-shop-{u}" for u in rng.integers(0, 90, 2_000)],
            "item": rng.integers(0, 60, 2_000),
            "rating": rng.integers(1, 6, 2_000),
            "time": rng.integers(0, 1_000, 2_000),
        }
    )


def shards(log, folder, end, n=4):
    """The rows in several files; their columns stand in another sequence in every other one."""
    for k, rows in enumerate(log.iter_slices(len(log) // n + 1)):
        part = rows.select(reversed(rows.columns)) if k % 2 else rows
        with fsspec.open(f"{folder}/part-{k}.{end}", "wb", auto_mkdir=True) as file:
            part.write_parquet(file) if end == "parquet" else part.write_csv(file)
    return str(folder)


@pytest.mark.parametrize("end", ["parquet", "csv"])
@pytest.mark.parametrize("base", ["", "file://", "memory://"])
def test_a_folder_is_read_like_one_file(log, tmp_path, end, base):
    log.write_parquet(tmp_path / "whole.parquet")
    config = PrepareConfig(min_interactions=3, name="shop")
    expected = prepare(tmp_path / "whole.parquet", config).fingerprint()
    folder = shards(log, f"{base}{tmp_path}/shards", end)
    assert prepare(folder, config).fingerprint() == expected
    assert prepare(f"{folder}/part-*.{end}", config).fingerprint() == expected
    assert read(folder).name == read(f"{folder}/*").name == "shards"
    assert read(f"{folder}/part-0.{end}").name == "part-0"


@pytest.mark.parametrize("split", ["temporal", "last", "random"])
@pytest.mark.parametrize("end", ["parquet", "csv"])
def test_blocks_of_any_size_give_the_same_split(log, tmp_path, monkeypatch, split, end):
    folder = shards(log, tmp_path / "log", end)
    columns = Columns(where="rating > 1", weight="rating", min_rating=2)
    config = PrepareConfig(columns=columns, split=split, min_interactions=9)
    expected = prepare(folder, config)
    for module in (spool, pairs, tables):
        monkeypatch.setattr(module, "AT_ONCE", 130)
    monkeypatch.setattr(spool, "IN_MEMORY", 50)
    monkeypatch.setattr(tables, "CHUNK_BYTES", 900)
    found = prepare(folder, config)
    assert found.fingerprint() == expected.fingerprint()
    order = np.random.default_rng(0).permutation(found.n_items)
    turned = found.all_known().renumbered(order)
    turned.check()
    monkeypatch.undo()
    assert turned.fingerprint() == expected.all_known().renumbered(order).fingerprint()


def test_a_quoted_field_may_hold_line_breaks_anywhere(tmp_path, monkeypatch):
    rows = [f'u{k % 3},"line\nof ""{k}""\n",{k}\n' for k in range(40)]
    (tmp_path / "a.csv").write_text("user,note,item\n" + "".join(rows))
    for size in (7, 20, 100):
        monkeypatch.setattr(tables, "CHUNK_BYTES", size)
        assert read(tmp_path / "a.csv").item_ids.values.tolist() == list(range(40))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"user": ["a"], "sort": [1]}, "found columns 'user', 'sort'; expected an item"),
        ({"user": [1], "item": [2]}, " row 1: users are of type Int64, expected String as before"),
        ({"user": ["a"], "item": [None]}, " row 1: the item is missing"),
        ({"user": ["a"], "item": [1], "time": ["1999-01-01"]}, " row 1: time '1999-01-01' is a da"),
    ],
)
def test_a_bad_shard_is_named(tmp_path, bad, message):
    good = {"user": ["a", "b"], "item": [1, 2]} | ({"time": [3, 4]} if "time" in bad else {})
    for base in (str(tmp_path), "memory://bad"):
        for name, columns in (("a", good), ("b", bad)):
            with fsspec.open(f"{base}/{name}.parquet", "wb") as file:
                pl.DataFrame(columns).write_parquet(file)
        with pytest.raises(InputError, match=re.escape(message)) as caught:
            read(base)
        assert re.match(f"{base.replace('//', '///?')}/b.parquet", str(caught.value))
        assert "\n" not in str(caught.value)


def test_files_of_two_formats_and_several_lists_are_refused(tmp_path):
    for name in ("a.csv", "b.parquet"):
        (tmp_path / name).write_text("user,item\n1,2\n")
    with pytest.raises(InputError, match=r"b.parquet: is parquet, expected csv as .*a.csv"):
        read(tmp_path)
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("1 2\n")
    with pytest.raises(InputError, match="holds 2 files, expected one of lists"):
        read(f"{tmp_path}/*.txt")


def test_lists_at_an_address_are_named_by_their_folder():
    with fsspec.open("memory://shop/train.txt", "w") as file:
        file.write("0 1 2\n1 1 2\n")
    assert read("memory://shop/train.txt").name == "shop"


def test_times_have_one_unit_whatever_the_batch(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("user,item,time\n1,1,5\n1,2,7\n1,3,6.5\n")
    monkeypatch.setattr(tables, "CHUNK_BYTES", 8)
    assert read(tmp_path / "a.csv").times.tolist() == [5_000_000, 7_000_000, 6_500_000]


def test_the_first_batch_tells_if_days_or_months_come_first(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("user,item,time\n1,1,1/31/2010\n1,2,2/1/2010\n1,3,3/1/2010\n")
    monkeypatch.setattr(tables, "CHUNK_BYTES", 8)
    days = (read(tmp_path / "a.csv").times // 86_400_000_000).tolist()
    assert [day - days[0] for day in days] == [0, 1, 29]
    (tmp_path / "a.csv").write_text("user,item,time\n1,1,2/1/2010\n1,2,1/31/2010\n")
    with pytest.raises(InputError, match=r"line 2: time '2/1/2010' is not usable"):
        read(tmp_path / "a.csv")


def test_the_first_batch_tells_which_texts_are_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "CHUNK_BYTES", 8)
    for kinds, where in ((("5", "7", "buy"), "kind < 6"), (("buy", "7", "5"), "kind = 'buy'")):
        rows = "".join(f"1,{item},{kind}\n" for item, kind in enumerate(kinds, start=1))
        (tmp_path / "a.csv").write_text(f"user,item,kind\n{rows}")
        assert read(tmp_path / "a.csv", Columns(where=where)).item_ids.values.tolist() == [1]


def test_a_long_read_says_how_far_it_is(tmp_path, monkeypatch, caplog):
    (tmp_path / "a.csv").write_text("user,item\n1,1\n1,2\n")
    monkeypatch.setattr("elasticrec.data.readers.gathering.PATIENCE", 0)
    with caplog.at_level("INFO"):
        read(tmp_path / "a.csv")
    assert f"{tmp_path / 'a.csv'}: 2 rows read" in caplog.messages


def test_a_split_is_mapped_and_its_file_stays_as_it_is(log, tmp_path):
    path = tmp_path / "split.npz"
    prepare(log, PrepareConfig(min_interactions=2)).save(path)
    before, loaded = path.read_bytes(), Split.load(path)
    for array in (loaded.train.items, loaded.train.order, loaded.test.indptr):
        base = array
        while isinstance(base, np.ndarray):
            assert base.flags.aligned
            base = base.base
        assert type(base).__name__ == "mmap"
    loaded.train.items[:] = 0
    assert path.read_bytes() == before
