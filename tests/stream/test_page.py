"""The worked example of docs/stream-format.md: its bytes are the writer's, its answers hold."""

import re
from pathlib import Path

import pytest

from tests.stream.example import example
from tests.stream.reference import Reference

PAGE = Path(__file__).resolve().parents[2] / "docs" / "stream-format.md"
EXAMPLE = PAGE.read_text(encoding="utf-8").split("## 13. Worked example")[1]
LINE = re.compile(r"^([0-9A-F]{4})  ((?:[0-9A-F]{2} ?)+)(?:× (\d+))?(?: |$)", flags=re.MULTILINE)


def spelled():
    """The bytes of the example as the page spells them; every line starts where one ended."""
    file = b""
    for offset, digits, times in LINE.findall(EXAMPLE.split("```")[1]):
        assert int(offset, 16) == len(file), f"line {offset} follows {len(file):04X}"
        file += bytes.fromhex(digits) * int(times or 1)
    return file


def test_the_bytes_of_the_example_are_the_writers():
    assert spelled() == example()


@pytest.mark.parametrize("n_bytes", [None, 694])
def test_the_answers_of_the_example_hold(n_bytes):
    reader = Reference(spelled()[:n_bytes])
    table = EXAMPLE.split("| history | list: id (score) | because of |")[
        1 if n_bytes is None else 2
    ]
    for history in ([], ["502"], ["501", "502"], ["502", "501"])[: 2 if n_bytes else 4]:
        items, scores, why, _ = reader.recommend(history)
        listed = ", ".join(f"{item} ({score})" for item, score in zip(items, scores, strict=True))
        because = "".join(f"{a}: {b}" for a, b in zip(items, why, strict=True) if b)
        assert (
            f"| {', '.join(history) or 'nothing'} | {listed} | {because} |".replace("|  |", "| |")
            in table
        )


def test_the_numbers_on_the_way_hold():
    reader = Reference(spelled())
    assert reader.vector(0) == [4] * 4 + [-4] * 4
    assert reader.vector(1) == [-4] * 4 + [4] * 4
    assert [reader.gain(item) for item in range(3)] == [102, 76, 0]
    t, M = reader.tables(reader.person([], None))
    assert (M, t[0][0], t[0][1], t[0][18]) == (393_204, -32_767, 10_922, 10_922)
    q = reader.person([0, 1], None)
    assert q == [-32_767] * 4 + [32_767] * 4
    assert reader.vote_values(q, reader.tables(q)[1], [0, 1], False)[0][3] == 3_145_632
    assert reader.file.least == 694
