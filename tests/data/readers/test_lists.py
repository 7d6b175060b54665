import gzip
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.data.readers.lists import (
    parse_numbers,
    read_lists,
)
from elasticrec.errors import InputError


def written(tmp_path, content, name="train.txt"):
    path = tmp_path / name
    data = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


@given(
    st.lists(st.lists(st.integers(0, 10**18 - 1), max_size=6), min_size=1, max_size=10),
    st.sampled_from([" ", "  ", "\t", " \t"]),
    st.sampled_from(["\n", "\r\n", " \n"]),
    st.booleans(),
)
@settings(deadline=None, max_examples=80)
def test_numbers_are_what_int_gives(rows, space, newline, ends):
    text = newline.join(space.join(map(str, row)) for row in rows) + (newline if ends else "")
    numbers = parse_numbers(text.encode(), "x")
    expected = [(line, int(w)) for line, row in enumerate(text.split("\n")) for w in row.split()]
    assert list(zip(numbers.lines.tolist(), numbers.values.tolist(), strict=True)) == expected


@pytest.mark.parametrize("name", ["train.txt", "train.txt.gz"])
def test_one_file(tmp_path, name):
    whole = read_lists([written(tmp_path, "0 3 1\n2 1 1 1\n2 0\n", name)])[0]
    assert [whole.pairs.of(user).tolist() for user in range(3)] == [[1, 3], [], [0, 1]]
    assert whole.user_ids.values.tolist() == [0, 1, 2]
    assert whole.name == tmp_path.name


def test_the_name_is_the_folders_for_a_train_file_only(tmp_path):
    assert read_lists([written(tmp_path, "0 1\n", "clicks.txt.gz")])[0].name == "clicks"
    assert read_lists([written(tmp_path, "0 1\n")], name="mine")[0].name == "mine"


def test_published_parts_share_users_and_items(tmp_path):
    train = written(tmp_path, "0 0 1\n1 2\n")
    test = written(tmp_path, "0 5\n1 \n3 0\n4\n", "test.txt")
    known, held_out = read_lists([train, test])
    assert known.pairs.n_users == held_out.pairs.n_users == 5
    assert known.pairs.n_items == held_out.pairs.n_items == 6
    assert held_out.pairs.per_user.tolist() == [1, 0, 0, 1, 0]
    assert known.pairs.per_item.tolist() == [1, 1, 1, 0, 0, 0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("0 1 2\n1 x 3\n", "train.txt line 2: found 'x', expected whole numbers"),
        ("0 1 2\n\n1 -5 3\n", "train.txt line 3: found '-5', expected whole numbers"),
        ("0 1 2\n1 2.5\n", "train.txt line 2: found '2.5', expected whole numbers"),
        ("user item\n0 1\n", "train.txt line 1: found 'user', expected whole numbers"),
        ("0 1\n1 12345678901234567890\n", "line 2: found '12345678901234567890', expected"),
        ("0,1\n", "line 1: found '0,1', expected"),
        ("0 1\n1 4000000000\n", "line 2: item number 4000000000 is out of reach, expected items"),
        ("0 1\n4000000000 1\n", "line 2: user number 4000000000 is out of reach, expected users"),
        ("0\n1\n", "has no items, expected lines of"),
        ("", "train.txt: is empty"),
        (" \n\n", "train.txt: is empty"),
        (b"\x93NUMPY\0\1", "is a binary file, expected lines of numbers"),
        ("0 1\n1 \u00e9t\u00e9\n", "line 2: found 'été', expected"),
    ],
)
def test_what_is_no_list_is_refused_by_line(tmp_path, content, message):
    path = written(tmp_path, content)
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        read_lists([path])
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_half_a_million_numbers_are_read_right(rng):
    values = rng.integers(0, 90_000, size=(25_000, 20))
    text = "\n".join(f"{u} " + " ".join(map(str, row)) for u, row in enumerate(values.tolist()))
    numbers = parse_numbers(text.encode(), "x")
    kept = numbers.values.reshape(25_000, 21)
    assert np.array_equal(kept[:, 1:], values)
    assert np.array_equal(kept[:, 0], np.arange(25_000))
