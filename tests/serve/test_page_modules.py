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


def test_sizes_are_called_by_the_round_size_that_they_were_cut_for(run):
    sizes = "[26476, 29114, 98186, 98, 997000, 1000000, 1706739, 4.9e6, 9.5e9].map(m.sizeText)"
    expected = ["26.5 KB", "30 KB", "100 KB", "100 B", "1 MB", "1 MB", "1.71 MB", "5 MB", "10 GB"]
    assert run("words.js", sizes) == expected


def curve(*qualities, **more):
    points = [{"bytes": 1000 * (n + 1), "r": quality} for n, quality in enumerate(qualities)]
    return json.dumps({"metric": "r", "points": points, **more})


def test_sizes_are_the_measured_ones(run):
    model = "{ bytes: 2500, least_bytes: 700 }"
    told = f"m.sizesOf({model}, {curve(0.1, 0.2, 0.3)})"
    assert run("sizes.js", told) == [
        {"bytes": 1000, "quality": 0.1}, {"bytes": 2000, "quality": 0.2},
    ]  # fmt: skip


def test_without_a_curve_they_are_round_and_nothing_is_said_of_their_quality(run):
    told = "m.sizesOf({ bytes: 2500, least_bytes: 700 }, null)"
    assert run("sizes.js", told) == [
        {"bytes": size, "quality": None} for size in (700, 1000, 1500, 2000, 2500)
    ]
    assert run("sizes.js", f"m.enoughText({told})") == ""


@pytest.mark.parametrize(
    ("qualities", "expected"),
    [
        ([0.1, 0.2, 0.3], 2),
        ([0.1, 0.2, 0.2009, 0.2005], 1),
        ([0.1, 0.2, 0.2011, 0.2005], 2),
        ([0.1, 0.2, 0.15, 0.19], 1),
        ([0.1, 0.15, 0.1, 0.2], 3),
        ([0.2], 0),
    ],
)
def test_enough_is_where_no_larger_size_is_better_by_half_a_per_cent(run, qualities, expected):
    points = f"m.sizesOf({{ bytes: 9e9 }}, {curve(*qualities)})"
    assert run("sizes.js", f"m.enough({points})") == expected
    text = run("sizes.js", f"m.enoughText({points})")
    assert bool(text) == (expected < len(qualities) - 1)
    assert run("sizes.js", f"m.startingSize({{ name: 'x' }}, {points})") == expected


def test_the_metric_is_explained_with_part_and_users(run):
    about = {"metric": "recall@50", "part": "validation", "users": 5000, "measured": "before refit"}
    assert run("words.js", f"m.metricText({json.dumps(about)})") == (
        "recall@50 is the share of what people took next that is among the first 50 of their "
        "lists, measured on 5,000 users of the validation part, before refit."
    )
    odd = {"metric": "odd@5", "part": "test", "users": 1}
    told = run("words.js", f"m.metricText({json.dumps(odd)})")
    assert told == "odd@5, measured on 1 user of the test part."


def test_two_lists_are_compared(run):
    later = run("compare.js", "m.compared([4, 1, 5, 3], [1, 2, 3, 4], true)")
    assert [(row["number"], row["mark"], row["words"]) for row in later] == [
        (4, "up", "▲ 3"), (1, "down", "▼ 1"), (5, "new", "new"), (3, "down", "▼ 1"),
    ]  # fmt: skip
    earlier = run("compare.js", "m.compared([1, 2, 3, 4], [4, 1, 5, 3], false)")
    assert [row["mark"] for row in earlier] == ["", "gone", "", ""]
    assert run("compare.js", "m.comparedText([1, 2], [2, 3])") == "1 of 2 titles are in both lists."
    assert run("compare.js", "m.comparedText([], [])") == "Both sizes give the same list."


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


def test_a_model_without_a_catalogue_has_numbers(run):
    asked = "((t) => [t.title(1), t.id(0), t.number('2'), t.number('3')])(m.readTitles(null, 3))"
    assert run("titles.js", asked) == ["No. 1", "0", 2, -1]
