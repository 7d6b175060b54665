import gzip
import io
import json
import re
import subprocess
import sys
import zipfile

import numpy as np
import polars as pl
import pytest
from scipy.sparse import coo_matrix, csr_matrix

from elasticrec.data.readers.columns import Columns
from elasticrec.data.readers.frames import from_csr
from elasticrec.data.readers.lists import read_goodbooks
from elasticrec.data.readers.sources import (
    FORMATS,
    format_of,
    over_same_ids,
    read,
    with_titles,
)
from elasticrec.data.readers.sources import read as read_table
from elasticrec.errors import InputError


def test_importing_the_readers_imports_nothing_heavy():
    code = (
        "import sys, elasticrec.data.readers.sources, elasticrec.data.preparation; "
        "print([m for m in ('polars', 'pandas', 'scipy', 'torch', 'pyarrow') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert out.stdout == "[]\n"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(("a.csv", "csv"), ("a.CSV.gz", "csv"), ("a.tsv", "tsv"), ("x/a.parquet", "parquet")),
        *(("train.txt.gz", "lists"), ("review.json", "json"), ("goodbooks", "goodbooks")),
        *(("ratings.dat", "csv"), ("u.data", "csv"), ("ml.inter.gz", "csv")),
    ],
)
def test_formats_by_name(name, kind):
    assert format_of(name) == kind


def test_an_unknown_name_or_format_is_refused(tmp_path):
    path = tmp_path / "data.xyz"
    with pytest.raises(InputError, match="no such file"):
        read(path)
    path.write_text("user,item\n1,2\n")
    with pytest.raises(InputError, match=r"data.xyz: format unknown by its name, expected .csv"):
        read(path)
    with pytest.raises(InputError, match="format 'zip' is unknown, expected one of csv, tsv"):
        read(path, format="zip")
    assert len(read(path, format="csv").pairs) == 1


def test_every_format_is_read(tmp_path):
    files = {
        "csv": ("a.csv", b"user,item\n0,1\n"),
        "tsv": ("a.tsv", b"user\titem\n0\t1\n"),
        "lists": ("a.txt", b"0 1\n"),
        "json": (
            "a.json",
            json.dumps({"user_id": "0", "business_id": "1", "date": "2020-01-01"}).encode(),
        ),
    }
    for kind, (name, content) in files.items():
        (tmp_path / name).write_bytes(content)
        assert (
            len(read(tmp_path / name).pairs) == len(read(tmp_path / name, format=kind).pairs) == 1
        )
    pl.DataFrame({"user": [0], "item": [1]}).write_parquet(tmp_path / "a.bin")
    assert len(read(tmp_path / "a.bin", format="parquet", name="x").pairs) == 1
    (tmp_path / "u.data").write_bytes(b"0\t1\t5\t9\n2\t1\t5\t9\n")
    films = read(tmp_path / "u.data", format="movielens")
    assert (films.user_ids.values.tolist(), films.times.tolist()) == ([0, 2], [9, 9])
    (tmp_path / "ratings.csv").write_bytes(b"userId,movieId,rating,timestamp\n1,2,3,4\n")
    assert read(tmp_path / "ratings.csv", format="movielens").times.tolist() == [4]
    assert {*files, "parquet", "movielens", "goodbooks"} == set(FORMATS)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("a.txt", {"user": "u"}, "format lists; --format csv reads"),
        ("a.txt", {"min_rating": 4}, "min_rating 4 means nothing for the format lists"),
        ("goodbooks", {"time": "t"}, "time 't' means nothing for the format goodbooks"),
        ("a.json", {"separator": ";"}, "separator ';' means nothing for the format json"),
    ],
)
def test_options_that_mean_nothing_are_refused(tmp_path, name, options, message):
    (tmp_path / "a.txt").write_text("0 1\n")
    source = name if name == "goodbooks" else tmp_path / name
    with pytest.raises(InputError, match=re.escape(message)):
        read(source, Columns(**options))


def test_goodbooks_is_what_its_page_says():
    books = read_goodbooks()
    books.pairs.check()
    assert (books.pairs.n_users, books.pairs.n_items, len(books.pairs)) == (30_723, 8_828, 824_125)
    assert (books.pairs.per_user.min(), books.pairs.per_user.max()) == (10, 116)
    assert (books.pairs.per_item.min(), books.pairs.per_item.max()) == (10, 2_540)
    assert (np.diff(books.pairs.per_item) <= 0).all()
    assert len(set(books.item_ids.values.tolist())) == 8_828
    assert books.titles[0] == "The Book Thief · Markus Zusak"
    assert books.item_ids.of_number(0) == 47
    assert all(books.titles)


def test_lists_and_goodbooks_are_read_without_polars(tmp_path):
    (tmp_path / "train.txt").write_text("0 1 2\n1 1 2\n")
    code = (
        "import sys; sys.modules['polars'] = None; "
        "from elasticrec.data.preparation import PrepareConfig, prepare; "
        f"prepare({str(tmp_path / 'train.txt')!r}, PrepareConfig(min_interactions=2)); "
        "print(prepare('goodbooks', PrepareConfig(name='books')).name)"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert out.stdout == "books\n"


def items_of(whole):
    """Original ids of the items, pair by pair."""
    return whole.item_ids.values[whole.pairs.items].tolist()


def test_a_matrix():
    matrix = csr_matrix(np.array([[0, 5, 2], [0, 0, 0], [3, 0, 0]]))
    whole = from_csr(matrix, name="m")
    assert whole.user_ids.values.tolist() == [0, 2]  # nobody else has an item
    assert whole.item_ids.values.tolist() == [0, 1, 2]
    assert [whole.pairs.of(user).tolist() for user in range(2)] == [[1, 2], [0]]
    assert items_of(from_csr(matrix, Columns(min_rating=3))) == [1, 0]


@pytest.mark.parametrize(
    ("value", "least", "refused"),
    [
        (-1, None, True),
        (np.nan, None, True),
        (np.nan, 2.0, True),
        (np.inf, None, True),
        (-1, 2.0, False),
    ],
)
def test_values_that_mean_nothing_are_refused(value, least, refused):
    matrix = coo_matrix(([5.0, value], ([0, 0], [1, 2])), shape=(1, 3))
    if not refused:
        assert items_of(from_csr(matrix, Columns(min_rating=least))) == [1]
        return
    with pytest.raises(InputError, match=f"holds the value {value}.*, expected numbers from 0"):
        from_csr(matrix, Columns(min_rating=least))


def test_explicit_zeros_and_repeated_cells_of_a_matrix():
    cells = coo_matrix(([1.0, 0.0, 1.0], ([0, 0, 0], [1, 2, 1])), shape=(1, 3))
    assert items_of(from_csr(cells)) == [1]


def test_train_and_test_tables_share_ids(tmp_path):
    (tmp_path / "train.csv").write_text("user,item\nb,2\na,1\n")
    (tmp_path / "test.csv").write_text("user,item\na,3\nc,2\n")
    train, test = over_same_ids(
        read_table(tmp_path / "train.csv"), read_table(tmp_path / "test.csv")
    )
    assert train.user_ids.values.tolist() == test.user_ids.values.tolist() == ["a", "b", "c"]
    assert train.item_ids.values.tolist() == [1, 2, 3]
    assert train.pairs.keys().tolist() == [0, 4]
    assert test.pairs.keys().tolist() == [2, 7]


def test_ids_that_are_text_in_one_table_only_become_text(tmp_path):
    (tmp_path / "train.csv").write_text("user,item\n1,2\n2,10\n")
    (tmp_path / "test.csv").write_text("user,item\n1,x\n")
    train, test = over_same_ids(
        read_table(tmp_path / "train.csv"), read_table(tmp_path / "test.csv")
    )
    assert train.item_ids.values.tolist() == ["10", "2", "x"]
    assert train.pairs.items.tolist() == [1, 0]
    assert test.pairs.items.tolist() == [2]


@pytest.fixture
def archive(tmp_path):
    """An archive as MovieLens publishes it."""
    path = tmp_path / "ml-tiny.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("ml-tiny/ratings.dat", "1::10::5::900\n1::20::4::901\n2::10::1::902\n")
        file.writestr("ml-tiny/movies.dat", "10::Amélie (2001)::Comedy\n".encode("latin-1"))
        file.writestr("ml-tiny/r.csv.gz", gzip.compress(b"user,item\n1,2\n"))
        file.writestr("ml-tiny/r.parquet", parquet_bytes({"user": [1], "item": [2]}))
    return path


def parquet_bytes(columns):
    buffer = io.BytesIO()
    pl.DataFrame(columns).write_parquet(buffer)
    return buffer.getvalue()


def test_members_of_an_archive(archive):
    whole = read(archive / "ml-tiny/ratings.dat")
    assert (whole.name, len(whole.pairs), whole.item_ids.values.tolist()) == (
        "ratings",
        3,
        [10, 20],
    )
    titled = with_titles(whole, archive / "ml-tiny/movies.dat")
    assert titled.titles.tolist() == ["Amélie (2001)", ""]
    for name in ("r.csv.gz", "r.parquet"):
        assert read(archive / "ml-tiny" / name).item_ids.values.tolist() == [2]


def test_an_archive_of_one_file_needs_no_name(tmp_path):
    with zipfile.ZipFile(tmp_path / "log.zip", "w") as file:
        file.mkdir("data")
        file.writestr("data/log.csv", "user,item\n1,2\n")
    assert len(read(tmp_path / "log.zip").pairs) == 1


def test_wrong_archives_are_refused(archive, tmp_path):
    with pytest.raises(InputError, match=r"holds ml-tiny/ratings.dat, .*; name one, such as .*dat"):
        read(archive)
    with pytest.raises(InputError, match=r"has no ml-tiny/x.csv, it holds ml-tiny/ratings.dat"):
        read(archive / "ml-tiny/x.csv")
    (tmp_path / "no.zip").write_bytes(b"PK nothing")
    for path in ("no.zip", "no.zip/a.csv"):
        with pytest.raises(InputError, match="is not a sound zip archive"):
            read(tmp_path / path)


def test_values_of_a_matrix_choose_and_weigh():
    matrix = csr_matrix(np.array([[1.0, 5.0], [-2.0, 3.0]]))
    whole = from_csr(matrix, Columns(where="value > 1", weight="value"))
    assert items_of(whole) == [1, 1]
    assert whole.pairs.weights.tolist() == [5, 3]
    with pytest.raises(InputError, match=r"found columns .*'value'; expected column 'rating'"):
        from_csr(matrix, Columns(where="rating > 1"))
    with pytest.raises(InputError, match=r"holds the value -2.0, expected numbers from 0"):
        from_csr(matrix, Columns(weight="value"))
