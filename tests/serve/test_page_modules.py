"""The page's small modules on their own, with answers known beforehand."""

import json
import shutil
import subprocess

import pytest

from elasticrec.serve.page import FOLDER


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Gives what an expression over the names that a module exports is worth."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node on this machine: the JavaScript tests were skipped")
    folder = tmp_path_factory.mktemp("page") / "page"
    shutil.copytree(FOLDER, folder)
    (folder / "package.json").write_text('{"type": "module"}')  # what browsers know by the tag

    def worth(module, expression):
        code = f"const m = await import({json.dumps((folder / module).as_uri())});"
        code += f"console.log(JSON.stringify({expression}));"
        words = [node, "--input-type=module", "-e", code]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return worth


def test_numbers_are_spelled_as_people_read_them(run):
    sizes = "[7, 999, 1000, 54774, 999499, 999500, 1466560, 25e6].map(m.bytesText)"
    expected = ["7 B", "999 B", "1 KB", "54.8 KB", "999 KB", "1 MB", "1.47 MB", "25 MB"]
    assert run("words.js", sizes) == expected
    assert run("words.js", "[0.04, 2.14, 99.96, 102.3].map(m.millisecondsText)") == [
        "0.0 ms", "2.1 ms", "100.0 ms", "102 ms",
    ]  # fmt: skip
    assert run("words.js", "[0, 0.5, 0.9994, 0.9996, 1].map(m.percentText)") == [
        "0 %", "50.0 %", "99.9 %", "100 %", "100 %",
    ]  # fmt: skip
    assert run("words.js", "[m.countText(1, 'item'), m.countText(1234, 'item')]") == [
        "1 item", "1,234 items",
    ]  # fmt: skip


CURVE = "[[1e5, .1], [5e5, .2], [1e6, .3], [2e6, .25], [3e7, .4]].map(([budget_bytes, estimate]) =>"
CURVE += " ({ budget_bytes, estimate, file_bytes: budget_bytes - 1 }))"


@pytest.mark.parametrize(
    ("full_bytes", "expected"),
    [
        (9e6, [[5e5, 5e5, 0.2], [1e6, 1e6, 0.3], [2e6, 1e6, 0.3]]),
        (4e6, [[1e5, 1e5, 0.1], [5e5, 5e5, 0.2], [1e6, 1e6, 0.3], [2e6, 1e6, 0.3]]),
    ],
)
def test_sizes_are_within_limits_and_more_room_is_never_worse(run, full_bytes, expected):
    told = f"m.sizesOf({{ full_bytes: {full_bytes} }}, {CURVE})"
    told += ".map((point) => [point.budget_bytes, point.step_bytes, point.estimate])"
    assert run("sizes.js", told) == expected


def test_it_starts_with_the_smallest_size_that_is_nearly_as_good_as_the_largest(run):
    points = "[.5, .9, .96, .98, .99, 1].map((estimate) => ({ estimate, budget_bytes: 1 }))"
    assert run("sizes.js", f"m.startingSize({{ name: 'books' }}, {points})") == 3


TITLES = ["Émile", "The Book Thief", "Book of Dust", "E-book, the", "三体", None, "Rebooked"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("emile", [0]),
        ("book", [2, 1, 3]),
        ("BOOK  thi", [1]),
        ("the book", [1, 3]),
        ("ebook", [6]),
        ("oo", [1, 2, 3, 6]),
        ("体", [4]),
        ("no 105", [5]),
        (" -!", []),
    ],
)
def test_titles_are_found_by_the_beginnings_of_their_words(run, text, found):
    catalogue = json.dumps({"ids": [str(100 + n) for n in range(len(TITLES))], "titles": TITLES})
    asked = f"new m.Titles({catalogue}).search({json.dumps(text)}, 8, new Set())"
    assert run("titles.js", asked) == found


def test_titles_give_ids_and_back(run):
    titles = 'new m.Titles({ ids: ["7", "9"], titles: null })'
    asked = f"((t) => [t.title(1), t.id(0), t.number('9'), t.number('8')])({titles})"
    assert run("titles.js", asked) == ["No. 9", "7", 1, -1]


def test_a_composition_is_told_in_a_sentence(run):
    kept = {"group_sizes": [100, 300], "depths": [[8, 4], [0, 0]], "neighbours": [4, 0]}
    assert run("composition.js", f"m.compositionWords({json.dumps(kept)})") == (
        "400 items in 2 groups, one row each. A number has 8 bits; this file keeps 1.5 of them, "
        "and 1.0 neighbours per item, on average. 300 items are left out."
    )
