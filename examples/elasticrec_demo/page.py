"""The report: one self-contained HTML file."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from elasticrec import __version__
from elasticrec.cli.inspect import choice_text
from elasticrec.files import written_whole
from elasticrec.stream.curve import LINES, whom
from elasticrec_demo import pictures

if TYPE_CHECKING:
    from elasticrec_demo.showing import Shown, Size

CREDIT = (
    'Data: derived from <a href="https://github.com/zygmuntz/goodbooks-10k">goodbooks-10k</a> by '
    'Zygmunt Zając, <a href="https://creativecommons.org/licenses/by-sa/4.0/">CC BY-SA 4.0</a>.'
)
WORK = ("train", "compress", "neighbours", "order", "write", "measure")
"""What a fit spends its time on, in this order."""
_KNOWN = 12
"""Titles of the reader's own items that are shown."""


def write_page(shown: Shown, path: Path) -> None:
    """Write the report."""
    style = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")
    sections = (_header, _sizes, _holdings, _lists, _way, _footer)
    body = "\n".join(section(shown) for section in sections)
    page = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>elasticrec on {escape(shown.model.split.name)}</title>"
        f"<style>{style}</style></head><body>\n{body}\n</body></html>\n"
    )
    with written_whole(path) as file:
        file.write(page.encode())


def _header(shown: Shown) -> str:
    split, last = shown.model.split, shown.sizes[-1]
    return (
        f'<p class="kicker">elasticrec on {escape(split.name)}: {split.n_users:,} readers, '
        f"{split.n_items:,} items</p><h1>One file, and each beginning of it is a recommender</h1>"
        f"<p>The model was trained once and written as one stream of "
        f"{shown.model.curve['points'][-1]['bytes']:,} bytes. Cut anywhere, it ranks: "
        f"<code>head -c {last.budget.n_bytes} {shown.model.path('stream')}</code> is the file of a "
        f"device with {last.budget}. A chunk that is cut in two is ignored.</p>"
    )


def _sizes(shown: Shown) -> str:
    curve = shown.model.curve
    metric, full = curve["metric"], curve["full"][curve["metric"]]
    values = [(size.path.name, f"{size.n_bytes:,}", size.quality) for size in shown.sizes]
    values += [(f"RULE for {p.budget}", f"{p.n_bytes:,}", p.quality) for p in shown.rule]
    vectors = f"{shown.model.table.items.size * 4:,}"
    values += [
        (label, vectors if name == "full" else "", curve[name][metric])
        for name, label in LINES.items()
    ]
    cells = [(escape(n), size, f"{v:.4f}", f"{v / max(full, 1e-9):.0%}") for n, size, v in values]
    rows = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in cells)
    heads = "<th>file</th><th>bytes</th><th>" + metric + "</th><th>of trained vectors</th>"
    return (
        f"<section><h2>Size and quality</h2><p>{metric}, measured on {whom(curve)}: every "
        "item that they do not have was ranked as a device ranks. "
        "The stream has neighbour lists beside its codes, so it may pass the vectors that it was "
        "made from. RULE is the search of the paper: an estimator learns from measured random "
        "compositions (here few) and finds one composition per budget, whose file serves that "
        f"budget alone.</p><figure>{pictures.curve(shown)}</figure>"
        f'<div class="scroll"><table><thead><tr>{heads}</tr></thead>{rows}</table></div></section>'
    )


def _holdings(shown: Shown) -> str:
    return (
        "<section><h2>What items have</h2><p>More bytes give an item a finer vector (columns of "
        "codes) and more neighbours, items that vote for it where a reader has them.</p>"
        f"<figure>{pictures.heat_map(shown)}</figure></section>"
    )


def _lists(shown: Shown) -> str:
    known = "; ".join(map(escape, shown.known[-_KNOWN:]))
    more = f", and {len(shown.known) - _KNOWN} earlier ones" if len(shown.known) > _KNOWN else ""
    lists = "".join(map(_list, shown.sizes))
    return (
        f"<section><h2>Reader {escape(str(shown.reader))} at {len(shown.sizes)} sizes</h2>"
        f"<p>An example, not a measure. She has {known}{more}. {shown.n_hidden} more of hers were "
        "hidden from every stage; ✓ marks those that a list names. A bar marks what the next "
        f'smaller file does not list.</p><div class="lists">{lists}</div></section>'
    )


def _list(size: Size) -> str:
    items = "".join(
        f'<li class="{"hidden " * each.hidden}{"new" * each.new}">{escape(each.title)}</li>'
        for each in size.listed
    )
    return f'<div class="card"><h3>{size.budget}</h3><ol>{items}</ol></div>'


def _way(shown: Shown) -> str:
    choices = "".join(
        f"<li>{escape(choice_text(choice))}</li>" for choice in shown.model.about["choices"]
    )
    seconds = {name: shown.model.about["seconds"][name] for name in WORK} | shown.seconds
    longest = max(seconds.values())
    bars = "".join(
        f'<tr><td>{escape(name)}</td><td>{value:.1f} s</td><td style="width:40vw;text-align:left">'
        f'<span class="bar" style="width:{100 * value / longest:.0f}%"></span></td></tr>'
        for name, value in seconds.items()
    )
    return (
        "<section><h2>What validation chose</h2><p>A candidate replaces the default only where the "
        f"same users rank clearly better with it.</p><ul>{choices}</ul>"
        f"<h2>Time per stage</h2><p>{sum(seconds.values()):.0f} seconds in all.</p>"
        f"<table>{bars}</table></section>"
    )


def _footer(shown: Shown) -> str:
    credit = CREDIT if shown.model.split.name == "goodbooks" else ""
    return f"<footer>{credit} Model {shown.model.id[:16]}, elasticrec {__version__}.</footer>"
