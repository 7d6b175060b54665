"""Readers of the LightGCN text files (a line per user: `user item item …`) and of goodbooks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from elasticrec.data.ids import Ids, as_objects
from elasticrec.data.interactions import Interactions
from elasticrec.errors import InputError
from elasticrec.files import demo_folder, plain_name, read_bytes

MAX_DIGITS = 18
"""Numbers longer than this do not fit 64 bits."""
BY = " · "
"""Stands in a title before its author or brand."""
NAMED = 3
"""Authors of a book that are named, at most."""
SPARE_NUMBERS = 1_000_000
"""Distance of the largest number from four times the count of numbers that is accepted."""


class Numbers(NamedTuple):
    """Every number of a text file and the line it stands on."""

    values: np.ndarray
    """(n,) int64 in file order."""
    lines: np.ndarray
    """(n,) int64: line of each number, from 0."""


def parse_numbers(content: bytes, path: Path | str) -> Numbers:
    """The whole numbers of a text of digits and white space; anything else is refused by line."""
    strange = re.search(rb"[^0-9 \t\r\n]|[0-9]{%d}" % (MAX_DIGITS + 1), content)
    if strange:
        raise _not_a_number(content, strange.start(), path)
    counts = [len(line.split()) for line in content.split(b"\n")]
    values = np.fromstring(content, dtype=np.int64, sep=" ")
    values = values[: sum(counts)]  # numpy finds a number in white space alone
    return Numbers(values, np.repeat(np.arange(len(counts)), counts))


def _not_a_number(content: bytes, at: int, path: Path | str) -> InputError:
    """The error that shows the word around byte `at` and its line."""
    if b"\0" in content[: at + 1000]:
        return InputError(f"{path}: is a binary file, expected lines of numbers")
    line = content.count(b"\n", 0, at) + 1
    start = max(content.rfind(space, 0, at) for space in (b" ", b"\n", b"\t")) + 1
    word = (content[start : start + 40].split() or [b""])[0].decode("utf-8", "replace")
    return InputError(
        f"{path} line {line}: found {word!r}, expected whole numbers from 0 separated by spaces"
    )


def read_lists(paths: Sequence[Path | str], *, name: str | None = None) -> list[Interactions]:
    """The interactions of `user item item …` files, such as train and test, over the same numbers.

    These stay the dense numbers; a user may have no items. The data are called as their file is,
    or as its folder where that is a `train…` one.
    """
    files = [_columns(path) for path in paths]
    path = Path(paths[0])
    user_ids = Ids.dense(max(n_users for _, _, n_users in files))
    item_ids = Ids.dense(max(int(items.max()) + 1 for _, items, _ in files))
    if name is None:
        called = plain_name(path)
        name = path.resolve().parent.name if called.startswith("train") else called
    return [
        Interactions.of_columns(users, items, user_ids, item_ids, ordered=True, name=name)
        for users, items, _ in files
    ]


def _columns(path: Path | str) -> tuple[np.ndarray, np.ndarray, int]:
    """Users and items of one file, the first number on a line being the user; and the users."""
    numbers = parse_numbers(read_bytes(path), path)
    first = np.diff(numbers.lines, prepend=-1) > 0
    limit = len(numbers.values) * 4 + SPARE_NUMBERS  # dense numbers: a huge one would cost memory
    if numbers.values.max(initial=0) >= limit:
        at = int(np.argmax(numbers.values))
        kind = "user" if first[at] else "item"
        raise InputError(
            f"{path} line {numbers.lines[at] + 1}: {kind} number {numbers.values[at]} is out of "
            f"reach, expected {kind}s counted from 0 (below {limit} for a file of this size)"
        )
    users, items = numbers.values[first], numbers.values[~first]
    if not len(items):
        raise InputError(f"{path}: has no items, expected lines of `user item item …`")
    owner = np.cumsum(first)[~first] - 1
    return users[owner], items, int(users.max()) + 1


def read_goodbooks() -> Interactions:
    """The books that 30,723 people want to read, of 8,828, with goodbooks ids, titles and authors.

    Users are numbered from 0: their original ids are not part of the sample.
    """
    folder = demo_folder() / "goodbooks"
    path = folder / "interactions.txt.gz"
    numbers = parse_numbers(read_bytes(path), path)  # line k holds the books of user k
    rows = read_bytes(folder / "items.tsv.gz").decode("utf-8").splitlines()[1:]
    book_ids, names, authors, _ = zip(*(row.split("\t") for row in rows), strict=True)
    first = [", ".join(each.split(", ")[:NAMED]) for each in authors]
    titles = [BY.join(pair) for pair in zip(names, first, strict=True)]
    users = Ids.dense(int(numbers.lines.max()) + 1)
    books = Ids.of(map(int, book_ids))
    whole = Interactions.of_columns(numbers.lines, numbers.values, users, books, name="goodbooks")
    return replace(whole, titles=as_objects(titles))
