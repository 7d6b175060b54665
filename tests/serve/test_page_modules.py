"""The page's small modules on their own, with answers known beforehand."""

import json
import shutil
import subprocess
from base64 import b64encode

import pytest

from elasticrec.files import demo_folder
from elasticrec.serve.page import FOLDER
from elasticrec.stream.chunk import index_of
from elasticrec.stream.curve import prefix_composition

ANSWER = """
for await (const line of (await import('node:readline')).createInterface(process.stdin)) {
  const { module, expression } = JSON.parse(line), m = await import(module);
  console.log(JSON.stringify(new Function('m', `return ${expression}`)(m)));
}
"""


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
        asked = {"module": (folder / module).as_uri(), "expression": expression}
        process.stdin.write(json.dumps(asked) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        assert line, "node ended; see what it printed"
        return json.loads(line)

    words = [node, "--input-type=module", "-e", ANSWER]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, **pipes) as process:
        yield worth
        process.stdin.close()


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


TITLES = [
    *("Émile · Jean-Jacques Rousseau", "The Book Thief · Markus Zusak", "Book of Dust"),
    *("E-book, the", "三体 · Liú Cíxīn", None, "Rebooked"),
]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("emile", [0]),
        ("book", [2, 1, 3]),
        ("BOOK  thi", [1]),
        ("the book", [1, 3]),
        ("markus", [1]),
        ("liu", [4]),
        ("ebook", [1, 2, 3, 6]),  # one letter too many, or the end of another word
        ("zuask", [1]),  # two letters swapped
        ("bokk thieef", [1]),
        ("rouxxo", []),
        ("rouseau", [0]),
        ("jean-jaques", [0]),
        ("bokk emile", []),
        ("oo", [1, 2, 3, 6]),
        ("xq", []),
        ("体", [4]),
        ("no 105", [5]),
        (" -!", []),
    ],
)
def test_titles_are_found_by_the_beginnings_of_their_words(run, text, found):
    catalogue = json.dumps({"ids": [str(100 + n) for n in range(len(TITLES))], "titles": TITLES})
    asked = f"new m.Titles({catalogue}).search({json.dumps(text)}, 8, new Set())"
    assert run("titles.js", asked) == found


def test_wrong_letters_are_counted_against_the_beginning_of_a_word(run):
    pairs = [
        ("poter", "potter", 1), ("potte", "potter", 0), ("tolkine", "tolkien", 1), ("a", "b", 1),
        ("", "any", 0), ("hobbit", "hob", 3), ("abc", "abc", 0), ("xabc", "abcd", 1), ("ab", "", 2),
    ]  # fmt: skip
    asked = json.dumps([pair[:2] for pair in pairs])
    told = run("titles.js", f"{asked}.map(([word, other]) => m.edits(word, other, 9))")
    assert told == [expected for *_, expected in pairs]
    assert run("titles.js", "m.edits('magnificent', 'potter', 2)") == 3


def test_popular_titles_keep_their_numbers(run):
    popular = '[{ number: 2, id: "9", title: "A · B" }, { number: 5, id: "7", title: null }]'
    asked = "((t) => [t.title(2), t.by(2), t.title(5), t.number('7'), t.number('8')])"
    assert run("titles.js", f"{asked}(m.popularTitles({popular}))") == ["A", "B", "No. 7", 5, -1]


@pytest.mark.parametrize(
    ("runs", "text"),
    [
        ([(0, 9, 4, 2)], "Every title has 4 bytes about what it is like, and 2 titles to go "
         "with it."),
        ([(0, 9, 1, 0)], "Every title has 1 byte about what it is like."),
        ([(0, 2_000, 5, 1), (2_000, 9_000, 4, 0)], "The 2,000 most popular titles have 5 bytes "
         "about what they are like, and 1 title to go with them; the other 7,000 have 4 bytes."),
        ([(0, 3, 5, 2), (3, 6, 4, 2), (6, 9, 4, 1)], "The 3 most popular titles have 5 bytes "
         "about what they are like, and 2 titles to go with them; the other 6 have 4 bytes and 1 "
         "to 2 titles."),
    ],
)  # fmt: skip
def test_what_a_file_keeps_is_said_in_plain_words(run, runs, text):
    names = ("first", "end", "columns", "slots")
    told = json.dumps({"runs": [dict(zip(names, each, strict=True)) for each in runs]})
    assert run("contents.js", f"m.contentsText({told})") == text


def test_what_a_file_keeps_is_what_python_reads_in_it(run):
    stream = (demo_folder() / "models" / "goodbooks" / "stream.elastic").read_bytes()[:70_000]
    code = f"m.contentsOf(Uint8Array.from(atob('{b64encode(stream).decode()}'), "
    told = run("contents.js", code + "(letter) => letter.charCodeAt(0)))")
    runs = prefix_composition(index_of(stream, len(stream)), len(stream)).runs()
    assert [tuple(each.values()) for each in told["runs"]] == [tuple(map(int, r)) for r in runs]
    assert told["items"] == 8_828


def test_names_stand_where_nothing_is_crossed(run):
    box = "(left, top) => ({ left, right: left + 10, top, bottom: top + 4 })"
    line = "[{ x: 0, y: 10 }, { x: 50, y: 10 }, { x: 100, y: 0 }]"
    clear = f"((box) => m.freeBox([box(0, 8), box(80, 3), box(60, 12)], {line}, []).left)"
    assert run("drawing.js", f"{clear}({box})") == 60
    taken = f"((box) => m.freeBox([box(0, 8), box(0, 2), box(20, 2)], {line}, [box(5, 1)]).left)"
    assert run("drawing.js", f"{taken}({box})") == 20


@pytest.mark.parametrize(("high", "steps"), [(0.25, 3), (8.5, 5), (169, 4), (1, 3), (3, 4)])
def test_axes_have_few_round_steps(run, high, steps):
    assert len(run("drawing.js", f"m.roundSteps({high})")) == steps


def test_titles_give_ids_and_back(run):
    titles = 'new m.Titles({ ids: ["7", "9"], titles: null })'
    asked = f"((t) => [t.title(1), t.id(0), t.number('9'), t.number('8')])({titles})"
    assert run("titles.js", asked) == ["No. 9", "7", 1, -1]


def test_a_model_without_a_catalogue_has_numbers(run):
    asked = "((t) => [t.title(1), t.id(0), t.number('2'), t.number('3')])(m.readTitles(null, 3))"
    assert run("titles.js", asked) == ["No. 1", "0", 2, -1]


@pytest.mark.parametrize(
    ("low", "high", "sizes"),
    [
        (26_476, 1_520_812, [30e3, 100e3, 300e3, 1e6]),
        (5_100, 60_000, [10e3, 20e3, 50e3]),
        (8_940, 22_988, [10e3, 15e3, 20e3]),
        (21_000, 45_000, [30e3, 40e3]),
    ],
)
def test_the_sizes_below_the_curve_are_round_and_several(run, low, high, sizes):
    assert run("drawing.js", f"m.roundSizes({low}, {high})") == sizes
