"""The worked example of docs/bundle-format.md: its bytes are the writer's, its answers hold."""

import re
import struct
from pathlib import Path

from tests.bundle.example import example
from tests.bundle.reference import Reference

PAGE = Path(__file__).resolve().parents[2] / "docs" / "bundle-format.md"
LINE = re.compile(r"^([0-9A-F]{4})  ((?:[0-9A-F]{2} ?)+)(?:× (\d+))?(?: |$)", flags=re.MULTILINE)


def spelled():
    """The bytes of the example as the page spells them; every line starts where one ended."""
    shown = PAGE.read_text(encoding="utf-8").split("## 16. Worked example")[1].split("```")[1]
    file = b""
    for offset, digits, times in LINE.findall(shown):
        assert int(offset, 16) == len(file), f"line {offset} follows {len(file):04X}"
        file += bytes.fromhex(digits) * int(times or 1)
    return file


def test_the_bytes_of_the_example_are_the_writers():
    assert spelled() == example()


def test_the_answers_of_the_example_hold():
    reader = Reference(spelled())
    text = PAGE.read_text(encoding="utf-8")
    for history in ([], ["1"], ["0", "1"]):
        items, scores, why, _ = reader.recommend(history, k=3)
        shown = ", ".join(
            f"{item} ({float(score):.6g}, `{struct.pack('>f', score).hex()}`)"
            for item, score in zip(items, scores, strict=True)
        )
        named = "; item 2 because of item 1" if "1" in history else ""
        assert f"| {', '.join(history) or 'nothing'} | {shown}{named} |" in text
        assert why[items.index("2")] == ("1" if "1" in history else None)
    assert (reader.vector(0)[0], reader.vector(0)[4]) == (0.875, -0.125)
