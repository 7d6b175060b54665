"""The goodbooks sample that comes with the package (CC BY-SA 4.0, see its folder)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from elasticrec.data.ids import Ids, as_objects
from elasticrec.data.interactions import Interactions, Pairs
from elasticrec.data.readers.lists import parse_numbers
from elasticrec.files import read_bytes

GOODBOOKS = Path(__file__).parent.parent / "goodbooks"


def read_goodbooks() -> Interactions:
    """The books that 30,723 people want to read, of 8,828, with goodbooks ids and titles.

    Users are numbered from 0: their original ids are not part of the sample.
    """
    path = GOODBOOKS / "interactions.txt.gz"
    numbers = parse_numbers(read_bytes(path), path)  # line k holds the books of user k
    rows = read_bytes(GOODBOOKS / "items.tsv.gz").decode("utf-8").splitlines()[1:]
    fields = [row.split("\t") for row in rows]
    pairs = Pairs.from_arrays(
        numbers.lines, numbers.values, n_users=numbers.n_lines, n_items=len(rows)
    )
    return Interactions(
        pairs,
        Ids.dense(numbers.n_lines),
        Ids(np.array([int(book_id) for book_id, *_ in fields], dtype=np.int64)),
        titles=as_objects([title for _, title, *_ in fields]),
        name="goodbooks",
    )
