"""The writer's streams say what they were made of, read by the slow reader."""

from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.errors import InputError
from elasticrec.files import save_bytes
from elasticrec.stream.chunk import Kind, index_of, read_index
from elasticrec.stream.cutting import runs
from elasticrec.stream.format import ID_KINDS, Head
from elasticrec.stream.writer import Facts, stream_parts
from tests.stream.making import MadeOrder, alike, random_ids, random_parts, random_stream
from tests.stream.reference_file import StreamFile

DESCRIBED = [(2, (0,), 3), (1, (0, 1), 2)]


def joined(parts, climbs, least=1, **beside):
    return b"".join(
        stream_parts(*parts, MadeOrder.of(climbs), facts=Facts("cd" * 32, least), **beside)
    )


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(st.integers(0, 2**32), st.sampled_from(ID_KINDS))
def test_a_stream_says_what_it_was_made_of(seed, kind):
    (codes, neighbours, weights), order, facts, ids = random_stream(
        np.random.default_rng(seed), ids=kind
    )
    file = StreamFile(
        b"".join(stream_parts(codes, neighbours, weights, order, facts=facts, ids=ids))
    )
    have = np.zeros((2, file.V), dtype=int)
    for step_kind, first, count in zip(order.kind, order.first, order.count, strict=True):
        have[step_kind, first : first + count] += 1
    for item in range(file.V):
        columns, slots = have[:, item]
        assert file.codes[item] == codes.data[:columns, item].tolist()
        assert [number for number, _ in file.slots[item]] == neighbours.numbers[
            item, :slots
        ].tolist()
        assert [vote for _, vote in file.slots[item]] == neighbours.votes[item, :slots].tolist()
    for number, (book, block, scale, both, gain) in enumerate(file.columns):
        made = codes.columns[number]
        assert (block, scale) == (made[1], made[2])
        assert file.codebooks[book] == codes.codebooks[made[0]].tolist()
        assert both == tuple(weights[number + 1].astype(float))
        assert gain == codes.gains[number]
    assert file.lone == tuple(weights[0].astype(float))
    listed = have.any(axis=0).nonzero()[0]
    assert len(file.ids) == (0 if kind == "dense" else listed.max() + 1)


def test_columns_of_a_dot_score_have_whole_gains():
    codes, neighbours, weights = random_parts(np.random.default_rng(0), 20, 2, DESCRIBED, 1)
    file = StreamFile(joined((replace(codes, cosine=False), neighbours, weights), alike(20, 3, 1)))
    assert [gain for *_, gain in file.columns] == [32_768] * 3


def test_equal_inputs_give_equal_bytes(tmp_path):
    for name in ("one", "two"):
        parts, order, facts, _ = random_stream(np.random.default_rng(5))
        save_bytes(tmp_path / name, b"".join(stream_parts(*parts, order, facts=facts)))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def kinds(data):
    return [(Kind(each.kind).name, each.which) for each in index_of(data, len(data)).headers]


def test_codebooks_and_ids_come_right_before_they_are_needed():
    rng = np.random.default_rng(0)
    parts = random_parts(rng, 20, 2, DESCRIBED, 1)
    climbs = [(0, 0, 0, 5), (1, 0, 5, 5), (0, 1, 0, 5), (0, 2, 0, 5), (0, 0, 10, 10)]
    data = joined(parts, climbs, least=5, ids=random_ids(rng, "u32", 20))
    assert kinds(data) == [
        ("CODEBOOK", 0),
        ("COLUMNS", 0),
        ("IDS", 0),
        ("CODES", 0),
        ("IDS", 0),
        ("NEIGHBOURS", 0),
        ("CODEBOOK", 1),
        ("COLUMNS", 1),
        ("CODES", 1),
        ("CODES", 2),
        ("IDS", 0),
        ("CODES", 0),
    ]
    headers = index_of(data, len(data)).headers
    assert [(each.first, each.count) for each in headers if each.kind == Kind.IDS] == [
        (0, 5),
        (5, 5),
        (10, 10),
    ]
    assert [each.count for each in headers if each.kind == Kind.COLUMNS] == [1, 2]


def test_neighbouring_ranges_of_one_column_become_one_chunk():
    order = MadeOrder.of([(0, 0, 0, 3), (0, 0, 3, 2), (1, 0, 0, 5), (0, 1, 0, 2), (0, 1, 3, 2)])
    assert list(runs(order, 0, 5)) == [(0, 0, 0, 5), (1, 0, 0, 5), (0, 1, 0, 2), (0, 1, 3, 2)]
    assert list(runs(order, 1, 2)) == [(0, 0, 3, 2)]


def test_the_least_prefix_has_the_least_climbs(tmp_path):
    parts = random_parts(np.random.default_rng(0), 50, 2, DESCRIBED, 1)
    climbs = alike(50, 3, 1)
    order = MadeOrder.of(climbs)
    save_bytes(tmp_path / "s", b"".join(stream_parts(*parts, order, facts=Facts("cd" * 32, 2))))
    index = read_index(tmp_path / "s")
    file = StreamFile((tmp_path / "s").read_bytes()[: index.head.least])
    assert {(len(c), len(s)) for c, s in zip(file.codes, file.slots, strict=True)} == {(1, 1)}


def broken(**fields):
    """Parts of nine items with other fields of the codes or the neighbours."""
    codes, neighbours, weights = random_parts(np.random.default_rng(0), 9, 2, DESCRIBED, 2)
    about_codes = {key: value for key, value in fields.items() if hasattr(codes, key)}
    others = {key: value for key, value in fields.items() if hasattr(neighbours, key)}
    weights = fields.get("weights", weights)
    return replace(codes, **about_codes), replace(neighbours, **others), weights


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (
            {
                "columns": np.array([[0, 0, 1]] * 33),
                "data": np.zeros((33, 9), np.uint8),
                "weights": np.zeros((34, 2), np.float32),
            },
            "33 blocks .*, expected at most 32",
        ),
        ({"columns": np.zeros((1025, 3), int)}, "1025 columns, expected at most 1024"),
        ({"numbers": np.zeros((9, 65), np.uint32)}, "65 slots .*, expected at most 64"),
        ({"weights": np.full((4, 2), np.nan, np.float32)}, "vote weight nan"),
        ({"values": np.arange(1, 17)}, "start with 0"),
        ({"unit": float("inf")}, "unit inf"),
    ],
)
def test_parts_that_break_the_format_are_refused(fields, words):
    with pytest.raises(InputError, match=words):
        joined(broken(**fields), alike(9, 3, 2))


def test_an_order_of_too_many_small_climbs_is_refused():
    parts = random_parts(np.random.default_rng(0), 2200, 1, [(1, (0,), 1)], 0)
    climbs = [(0, 0, item, 1) for item in range(0, 2200, 2)]
    with pytest.raises(InputError, match="fewer, larger climbs"):
        joined(parts, climbs, least=len(climbs))


def test_every_chunk_is_linked_whole_by_the_one_before_it():
    parts, order, facts, _ = random_stream(np.random.default_rng(3))
    head, *chunks = stream_parts(*parts, order, facts=facts)
    links = [Head.unpack(head).link, *(chunk[20:32] for chunk in chunks)]
    assert links == [*(sha256(chunk).digest()[:12] for chunk in chunks), bytes(12)]
