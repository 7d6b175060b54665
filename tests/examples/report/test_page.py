"""The page is well-formed, shows what the story tells, and runs nothing that a title holds."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from elasticrec_demo.report.chart import size_quality_chart
from elasticrec_demo.report.heat_map import heat_map
from elasticrec_demo.report.page import page, write_page


def test_titles_are_text_never_markup(story):
    text = page(story)
    assert "<script" not in text
    assert "&lt;script&gt;alert(&#x27;1984&#x27;)&lt;/script&gt; &amp; more" in text


def test_is_well_formed_and_whole(story, tmp_path):
    write_page(story, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    body = text[text.index("<main>") : text.index("</main>") + len("</main>")]
    main = ElementTree.fromstring(body)  # balanced tags, quoted attributes
    assert next(each.text for each in main.iter("h2")) == "Size and quality"
    shown = " ".join(main.itertext())
    for word in ("50.0%", "90.0%", "4.00 MB", "Ulysses", "Emma", "For reader ann", "12 s"):
        assert word in shown


def test_what_was_wanted_and_what_is_new_is_marked(story):
    text = page(story)
    assert text.count('<li class="wanted">') == 3  # Dune, at both budgets and in full
    assert text.count('<li class="new">') == 2  # the other title, which the full list lacks


def test_says_why_it_is_this_reader(story):
    why = "whose full list finds some of what was hidden"
    assert why in page(story)
    named = replace(story, person=replace(story.person, named=True))
    assert why not in page(named)


def dots(svg, kind):
    group = re.search(rf'<g class="{kind}">(.*?)</g>', svg).group(1)
    found = re.findall(r'<circle class="dot" cx="([\d.]+)" cy="([\d.]+)"', group)
    return [(float(x), float(y)) for x, y in found]


def test_larger_is_further_right_and_better_is_higher(story):
    svg = size_quality_chart(story)
    ElementTree.fromstring(svg)
    (x1, y1), (x2, y2) = dots(svg, "searched")
    ((x3, y3),) = dots(svg, "full")
    assert x1 < x2 < x3
    assert y1 > y2 > y3
    assert x2 - x1 == pytest.approx(x3 - x2, abs=0.2)  # each doubles the one before
    assert (y1 - y2) / (y2 - y3) == pytest.approx(0.4 / 0.1, abs=0.05)
    assert [y for _, y in dots(svg, "uniform")] > [y1, y2]


def test_a_heat_map_has_a_cell_per_block_and_counts_the_kept():
    svg = heat_map(((32, 32, 0), (8, 0, 0)), (5, 4), name="a & b", popular_first=True)
    drawn = ElementTree.fromstring(svg)
    kinds = [each.get("class") for each in drawn.iter("rect")]
    assert kinds == ["kept", "kept", "no", "kept", "no", "no"]
    texts = [each.text for each in drawn.iter("text")]
    assert texts[:2] == ["2", "1"]
    assert {"popular", "rare"} <= set(texts)
    assert drawn.get("aria-label") == "a & b"
