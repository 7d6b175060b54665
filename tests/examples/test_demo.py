"""The demo from end to end on a planted world: prefixes, one reader's lists, RULE, a report."""

import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from typer.testing import CliRunner

from elasticrec.cli.main import app
from elasticrec.errors import InputError
from elasticrec.presets import PRESETS
from elasticrec.stream.chunk import read_index
from elasticrec_demo.page import write_page
from elasticrec_demo.showing import spread
from tests.cli.running import refused

pytest.importorskip("torch")
pytest.importorskip("matplotlib")
SIZES = (4_321, 8_765)


@pytest.fixture(scope="module")
def quick(tiny_preset):
    """Settings by which RULE takes a moment, too."""
    rule = tiny_preset.rule
    return replace(
        tiny_preset,
        rule=replace(
            rule,
            samples=replace(rule.samples, n_samples=10),
            estimator=replace(rule.estimator, steps=20),
            search=replace(rule.search, rounds=5),
        ),
    )


@pytest.fixture(scope="module")
def source(tiny_split, tmp_path_factory):
    path = tmp_path_factory.mktemp("source") / "split.npz"
    tiny_split.save(path)
    return path


@pytest.fixture
def demo(source, quick, monkeypatch):
    """Runs the demo with tiny settings."""
    monkeypatch.setitem(PRESETS, "demo", quick)
    sizes = [word for size in SIZES for word in ("--size", str(size))]

    def run(*words):
        result = CliRunner().invoke(app, ["demo", str(source), *map(str, words), *sizes])
        assert result.exit_code == 0, result.output or result.exception
        return result

    return run


@pytest.fixture(scope="module")
def shown(tiny_model, quick, tmp_path_factory):
    """What the demo shows of the shared model, and the folder with its files."""
    from elasticrec.model import Model
    from elasticrec.space import Budget
    from elasticrec_demo.showing import show

    place = tmp_path_factory.mktemp("demo")
    model = Model.open(shutil.copytree(tiny_model.root, place / "MODEL"))
    found = show(
        model, quick, place, lambda *_: None,
        sizes=[Budget(size) for size in SIZES], reader=None, k=8, device="cpu",
    )  # fmt: skip
    write_page(found, place / "report.html")
    return found


@pytest.fixture(scope="module")
def page(shown):
    return (shown.sizes[0].path.parent / "report.html").read_text(encoding="utf-8")


def test_sizes_are_plain_bytes_of_the_stream(shown):
    whole = shown.model.stream_path.read_bytes()
    index = read_index(shown.model.stream_path)
    for size, asked in zip(shown.sizes, SIZES, strict=True):
        assert size.path.read_bytes() == whole[:asked]
        assert asked not in index.ends
        assert size.n_bytes == index.longest_prefix(asked)
    assert len({size.quality for size in shown.sizes}) == len(SIZES)  # each is measured


def test_the_devices_lists_and_what_changed(shown):
    first, second = ({each.title for each in size.listed} for size in shown.sizes)
    assert not any(each.new for each in shown.sizes[0].listed)
    assert {each.title for each in shown.sizes[1].listed if each.new} == second - first
    split = shown.model.split
    user = split.user_ids.numbers([shown.reader])[0]
    hidden = {split.titles[i] or str(split.item_ids.values[i]) for i in split.test.of(user)}
    for size in shown.sizes:
        assert len(size.listed) == 8
        assert {each.title for each in size.listed if each.hidden} == hidden & {
            each.title for each in size.listed
        }
        assert not set(shown.known) & {each.title for each in size.listed}
    assert any(each.hidden for each in shown.sizes[-1].listed)


def test_rule_stays_within_the_same_budgets(shown):
    assert [point.budget.n_bytes for point in shown.rule] == list(SIZES)
    for point in shown.rule:
        assert 0 < point.n_bytes <= point.budget.n_bytes
        assert point.quality > shown.model.curve["popularity"]["recall@50"]


def test_sizes_are_spread_over_the_stream(tiny_model):
    index = read_index(tiny_model.stream_path)
    sizes = [budget.n_bytes for budget in spread(index)]
    assert sizes == sorted(set(sizes))
    assert index.head.least <= sizes[0] <= sizes[-1] < index.ends[-1]


class Page(HTMLParser):
    """Notes elements left open, and addresses that a browser would fetch."""

    def __init__(self, text):
        super().__init__()
        self.open, self.fetched = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag not in {"meta", "br"}:
            self.open.append(tag)
        self.fetched += [value for name, value in attrs if name in {"src", "xlink:href", "data"}]
        self.fetched += [value for name, value in attrs if name == "href" and tag == "link"]

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_report_is_one_sound_file(page, shown):
    found = Page(page)
    assert found.open == []
    assert all(address.startswith("#") for address in found.fetched)
    assert "url(http" not in page
    assert page.count('<svg role="img" aria-label=') == 2
    for size in shown.sizes:
        assert size.path.name in page
        assert f"{size.quality:.4f}" in page
    for point in shown.rule:
        assert f"RULE for {point.budget}" in page
        assert f"{point.quality:.4f}" in page
    for choice in shown.model.about["choices"]:
        assert choice["name"] in page
    assert len(re.findall(r"<td>[a-z]+</td><td>[0-9.]+ s</td>", page)) == 8


def test_the_reports_pictures_take_the_pages_colours(page):
    pictures = "".join(re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL))
    assert set(re.findall(r"(?:fill|stroke): ?([^;\"]+)", pictures)) <= {
        "none", "currentColor", "var(--accent)", "var(--other)",
    }  # fmt: skip
    assert "prefers-color-scheme: dark" in page


def test_titles_are_text(shown, tmp_path):
    odd = replace(shown, known=["<script>alert(1)</script> & more"])
    write_page(odd, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; more" in text


def test_the_command_takes_up_what_is_there(demo, tmp_path):
    out = tmp_path / "demo"
    first = demo("-o", out, "-k", 5)
    assert "train: done in" in first.stderr
    assert "with the recall@50 of each size" in first.stdout
    cut = f"head -c {SIZES[0]} {out}/MODEL/stream.elastic > {out}/4.321KB.elastic"
    assert cut in first.stdout
    assert first.stdout.endswith(f"the report: {out}/report.html\n")
    again = demo("-o", out, "--reader", 14)
    assert "done in" not in again.stderr
    assert "For reader 14, with" in again.stdout
    assert "train: done in" in demo("-o", out, "--fresh").stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--size", "9XB"], "'9XB' is not a size"),
        (["--preset", "paper-yelp"], "tiled scores (Eq. 2 as printed) have no stream"),
        (["-o", "thesis"], "thesis: is not the demo's, expected a new or empty folder"),
        (["-o", "thesis/thesis.tex"], "is not the demo's, expected a new or empty folder"),
        (["-o", "thesis", "--fresh"], "is not the demo's, expected a new or empty folder"),
    ],
)
def test_bad_input_is_one_line_and_touches_nothing(source, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    Path("thesis").mkdir()
    Path("thesis/thesis.tex").write_text("years of work")
    assert message in refused("demo", source, *words)
    assert [str(path) for path in Path().rglob("*")] == ["thesis", "thesis/thesis.tex"]


def test_an_unknown_reader_or_a_size_too_small_is_refused(tiny_model, quick, tmp_path):
    from elasticrec.space import Budget
    from elasticrec_demo.showing import show

    def ask(**asked):
        asked = {"sizes": [], "reader": None, "k": 5, "device": "cpu", **asked}
        show(tiny_model, quick, tmp_path, lambda *_: None, **asked)

    with pytest.raises(InputError, match="no user 'eve' in the data; ids look like 0, 7, 14"):
        ask(reader="eve")
    with pytest.raises(InputError, match="the smallest useful size of this stream is"):
        ask(sizes=[Budget(1_000)])
