"""A story as one HTML page without scripts, and with nothing that lies elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path

from elasticrec.files import written_whole
from elasticrec_demo.report.chart import legend, size_quality_chart
from elasticrec_demo.report.heat_map import heat_map
from elasticrec_demo.report.story import Fit, Listed, Measured, Story, size_text

STYLE = Path(__file__).with_name("page.css")
CREDIT = {
    "goodbooks": "Data derived from goodbooks-10k by Zygmunt Zając, CC BY-SA 4.0; "
    "titles as given there."
}
"""Whom the data of a page is owed to."""
KNOWN_SHOWN = 12
"""How many of a person's known items are named."""


def write_page(story: Story, path: Path | str) -> None:
    """Write the page of a story, whole or not at all."""
    with written_whole(path) as file:
        file.write(page(story).encode())


def page(story: Story) -> str:
    """The whole page."""
    sections = (_heading, _sizes, _compositions, _lists, _way)
    body = "\n".join(section(story) for section in sections)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>elasticrec: {escape(story.dataset)} at every size</title>\n"
        f"<style>\n{STYLE.read_text(encoding='utf-8')}</style>\n</head>\n<body>\n<main>\n"
        f"{body}\n{_footer(story)}\n</main>\n</body>\n</html>\n"
    )


def _heading(story: Story) -> str:
    """What came out, in one sentence, and how much there was to begin with."""
    middle = story.fits[len(story.fits) // 2]
    kept, full = story.share(middle.searched), story.full
    figures = [
        (f"{story.n_users:,}", "users"),
        (f"{story.n_items:,}", "items"),
        (f"{story.n_interactions:,}", "interactions"),
        (size_text(full.n_bytes), "the full model"),
        *(
            (f"{story.share(fit.searched):.0%}", f"of its quality in {_unbroken(fit.budget)}")
            for fit in story.fits
        ),
    ]
    tiles = "".join(
        f"<li><b>{value}</b><span>{escape(name)}</span></li>" for value, name in figures
    )
    return (
        f'<header><p class="kicker">elasticrec on {escape(story.dataset)}</p>'
        f"<h1>Trained once, then fitted to {_listing(fit.budget for fit in story.fits)}</h1>"
        f"<p>The {escape(middle.budget)} version keeps {kept:.1%} of the {escape(story.metric)} of "
        f"the full {size_text(full.n_bytes)} model. Nothing was trained again: a search decided "
        f"{_kept(story)} each group of items keeps.</p></header>"
        f'<ul class="tiles">{tiles}</ul>'
    )


def _sizes(story: Story) -> str:
    """The picture and the table of sizes and qualities."""
    n = len(story.fits[0].ways) - 1
    metrics = list(dict.fromkeys([story.metric, "recall@20"]))
    heads = ["method", "of full", *metrics, "size", "coverage", "found in"]
    row = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    groups = "".join(
        f'<tbody><tr><th scope="rowgroup" colspan="{len(heads)}">{escape(fit.budget)}</th></tr>'
        + "".join(_row(story, way, metrics, own=way is fit.searched) for way in fit.ways)
        + "</tbody>"
        for fit in story.fits
    )
    full = f"<tfoot>{_row(story, story.full, metrics)}</tfoot>"
    return (
        "<section><h2>Size and quality</h2>"
        f"<p>Each size was filled by the search and by {n} controls. All were then measured alike: "
        "every item that a user does not have was ranked, for everyone, and compared with items "
        "that had been hidden from every earlier step.</p>"
        f'<figure class="card picture">{size_quality_chart(story)}<div><h3>Share of the full '
        f"model’s {escape(story.metric)}</h3>{legend(story)}</div></figure>"
        f'<div class="card scroll"><table><thead><tr>{row}</tr></thead>{groups}{full}'
        "</table></div></section>"
    )


def _row(story: Story, way: Measured, metrics: list[str], *, own: bool = False) -> str:
    """One line of the table."""
    time = "" if way.estimate is None else _duration(way.seconds)
    name = "full model" if way.method == "full" else way.method
    cells = [escape(name), f"{story.share(way):.1%}"]
    cells += [f"{way.metrics[metric]:.4f}" for metric in metrics]
    cells += [size_text(way.n_bytes), f"{way.coverage:.1%}", time]
    kind = ' class="own"' if own else ""
    return f"<tr{kind}>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _compositions(story: Story) -> str:
    """A heat map of each searched composition."""
    popular = story.group_kind == "popularity"
    n_groups, n_blocks = len(story.group_sizes), len(story.fits[0].depths[0])
    maps = "".join(_map(story, fit, popular) for fit in story.fits)
    kind = "from the most to the least popular" if popular else f"made by {story.group_kind}"
    return (
        "<section><h2>What each group keeps</h2>"
        f"<p>{n_groups} groups of about {story.group_sizes[-1]:,} items, {escape(kind)}; "
        f"{n_blocks} blocks per item, those that move scores most on the left. {_legend(story)}</p>"
        f'<div class="columns maps">{maps}</div></section>'
    )


def _map(story: Story, fit: Fit, popular: bool) -> str:
    """One composition."""
    way = fit.searched
    name = f"Blocks that each group keeps in {fit.budget}"
    counts = fit.neighbours if _has_neighbours(story) else None
    drawn = heat_map(fit.depths, story.group_sizes, name=name, popular_first=popular, counts=counts)
    return (
        f'<figure class="card"><h3>{escape(fit.budget)}</h3>{drawn}<figcaption>'
        f"{way.n_blocks} of {story.full.n_blocks} blocks, {size_text(way.n_bytes)}."
        "</figcaption></figure>"
    )


def _has_neighbours(story: Story) -> bool:
    """Whether some group carries neighbours."""
    return any(any(fit.neighbours) for fit in story.fits)


def _kept(story: Story) -> str:
    """What a search chooses, in a few words."""
    if _has_neighbours(story):
        return "how many bits of each block, and how many neighbours,"
    return "which blocks of its embedding"


def _legend(story: Story) -> str:
    """How to read a heat map."""
    if _has_neighbours(story):
        return (
            "The darker a cell, the more bits of each number are shipped; the number behind a row "
            "is how many neighbours each item carries."
        )
    return "A filled cell is shipped, and the number behind a row counts them."


def _lists(story: Story) -> str:
    """What one person is recommended, size by size."""
    person = story.person
    chips = "".join(f"<li>{escape(title)}</li>" for title in person.known[:KNOWN_SHOWN])
    more = len(person.known) - KNOWN_SHOWN
    if more > 0:
        chips += f"<li>and {more} more</li>"
    chosen = "" if person.named else ": one of those whose full list finds some of what was hidden"
    whole = {each.title for each in story.full_listed}
    lists = [_list(fit.budget, fit.listed, whole) for fit in story.fits]
    lists.append(_list(f"full, {size_text(story.full.n_bytes)}", story.full_listed, whole))
    return (
        f"<section><h2>For reader {escape(str(person.id))}</h2>"
        f"<p>An example, not a measure{chosen}. The model knows {len(person.known)} items:</p>"
        f'<ul class="chips">{chips}</ul>'
        f"<p>{person.n_wanted} more had been hidden. Where a list names one of them, it is marked "
        "✓. “New here” is what the full model’s list does not have.</p>"
        f'<div class="columns lists">{"".join(lists)}</div></section>'
    )


def _list(name: str, listed: tuple[Listed, ...], whole: set[str]) -> str:
    """One list."""
    items = ""
    for each in listed:
        kinds = ["wanted"] if each.wanted else []
        kinds += [] if each.title in whole else ["new"]
        items += (
            f'<li class="{" ".join(kinds)}"><span class="title">{escape(each.title)}</span></li>'
        )
    return f'<div class="card"><h3>{escape(name)}</h3><ol class="books">{items}</ol></div>'


def _way(story: Story) -> str:
    """What was done and how long it took, and how good the estimates are."""
    longest = max([stage.seconds for stage in story.stages] + [1e-9])
    stages = "".join(
        f"<tr><td>{escape(stage.name)}</td><td>{escape(stage.about)}</td>"
        f'<td class="time">{_duration(stage.seconds)}'
        f'<div class="bar" style="width:{100 * stage.seconds / longest:.0f}%"></div></td></tr>'
        for stage in story.stages
    )
    agreements = "".join(
        f"<tr><td>{escape(each.name)}</td><td>{each.n:,}</td><td>{each.spearman:.3f}</td></tr>"
        for each in story.agreements
    )
    total = sum(stage.seconds for stage in story.stages)
    return (
        f"<section><h2>How it came about, in {_duration(total)}</h2>"
        '<div class="columns two"><div class="card scroll"><table class="stages">'
        f"<tbody>{stages}</tbody></table></div>"
        '<div class="card scroll"><h3>How well estimates rank compositions</h3>'
        '<p class="soft">1 is perfect, 0 is chance; on compositions that the estimator was not '
        "fitted on.</p><table><thead><tr><th>compositions</th><th>number</th>"
        f"<th>rank correlation</th></tr></thead><tbody>{agreements}</tbody></table></div></div>"
        "</section>"
    )


def _footer(story: Story) -> str:
    credit = CREDIT.get(story.dataset, "")
    made_by = f"Model {story.model_id[:16]}, elasticrec {escape(story.version)}."
    return f"<footer>{credit} {made_by}</footer>"


def _duration(seconds: float) -> str:
    """Seconds as a person reads them."""
    if seconds < 1:
        return f"{seconds * 1e3:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


def _unbroken(text: str) -> str:
    """The text with spaces at which no line ends."""
    return text.replace(" ", "\u00a0")


def _listing(names: Iterable[str]) -> str:
    """`a, b and c`."""
    *first, last = (escape(_unbroken(name)) for name in names)
    return f"{', '.join(first)} and {last}" if first else last
