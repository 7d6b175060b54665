"""The tables of Table 2, in Markdown: every method, leads, seconds, and the paper's beside ours."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from experiments import paper
from experiments.comparison import SIZES, Measurements, word_of
from experiments.equal_bytes import PRINTED
from experiments.tasks import OURS


def table(found: Measurements, dataset: str, metrics: Iterable[str]) -> str:
    """Every method of a data set at every size, mean ± deviation over seeds; the best in bold."""
    heads = [f"{word_of(metric)}, {mb} MB" for metric in metrics for mb in SIZES]
    rows = [
        "| method | person | " + " | ".join(heads) + " |",
        "|---|---|" + "---|" * len(heads),
    ]
    columns = [(mb, metric) for metric in metrics for mb in SIZES]
    best = {c: max(found.value(dataset, r, *c) or 0 for r in found.rows(dataset)) for c in columns}
    for row in found.rows(dataset):
        cells = []
        for column in columns:
            shown = found.shown(dataset, row, *column)
            first = shown != "–" and found.value(dataset, row, *column) == best[column]
            cells.append(f"**{shown}**" if first else shown)
        rows.append(f"| {row} | {row.person} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def leads_table(found: Measurements, dataset: str, metric: str = "recall@50") -> str:
    """Ours against the best dense rival and the best of neighbours alone, at each size."""
    rows = [
        f"| MB | ours | best rival | its {word_of(metric)} | ours is | p |",
        "|---|---|---|---|---|---|",
    ]
    for dense in (True, False):
        for lead in found.leads(dataset, dense=dense, metric=metric):
            p = "–" if lead.p is None else f"{lead.p:.1g}"
            kind = "dense" if dense else "neighbours alone"
            rows.append(
                f"| {lead.mb:g} | {lead.ours:.4f} | {lead.rival} ({kind}) | {lead.theirs:.4f} "
                f"| {lead.better:+.1%} | {p} |"
            )
    return "\n".join(rows)


def seconds_table(found: Measurements, dataset: str) -> str:
    """What three sizes take: once, each, and together; and from how many on ours is faster."""
    rows = [
        "| method | once, s | each size, s | three sizes, s | ours is faster from | machine |",
        "|---|---|---|---|---|---|",
    ]
    ours = found.ours(dataset)
    mine = found.seconds(dataset, ours) if ours else None
    for row in found.rows(dataset):
        taken, machine = found.seconds(dataset, row), found.machine(dataset, row)
        if not taken or (row.method == OURS and row != ours):
            continue
        faster = "–"
        if mine and ours and found.machine(dataset, ours) == machine and taken[1] > mine[1]:
            # The least n with once + n · each below theirs; those who train once have no each.
            n = max(1, int((mine[0] - taken[0]) // (taken[1] - mine[1])) + 1)
            faster = f"{n} sizes" if n > 1 else "1 size"
        shown = " | ".join(f"{value:.1f}" for value in taken)
        rows.append(f"| {row} | {shown} | {faster} | {machine} |")
    return "\n".join(rows)


def beside_the_paper(found: Measurements, dataset: str) -> str:
    """The paper's Recall@50 and @100 beside ours, at its sizes; slips of its print are marked."""
    heads = [f"{word_of(m)}, {mb} MB" for m in ("recall@50", "recall@100") for mb in PRINTED]
    rows = ["| method | " + " | ".join(heads) + " |", "|---|" + "---|" * len(heads)]
    for row in found.rows(dataset):
        cells = []
        if row.by:
            continue
        for metric in ("recall@50", "recall@100"):
            for mb in PRINTED:
                here = found.value(dataset, row, mb, metric)
                there = paper.printed(dataset, row.method, mb, metric)
                slip = (paper.STAND_INS.get(dataset), row.method, str(mb), metric) in paper.SLIPS
                said = "–" if there is None else f"{there:.4f}{' (slip)' * slip}"
                cells.append(f"{said} / {'–' if here is None else f'{here:.4f}'}")
        if any(not cell.startswith("–") for cell in cells):
            rows.append(f"| {row} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def tables(results: Path) -> str:
    """All tables of Table 2, in Markdown."""
    found, parts = Measurements(results), []
    for dataset in found.datasets:
        parts += [f"### {dataset}", ""]
        for metric in paper.METRICS:
            parts += [table(found, dataset, [metric]), ""]
        parts += [leads_table(found, dataset), "", seconds_table(found, dataset), ""]
        if dataset in paper.STAND_INS:
            parts += [beside_the_paper(found, dataset), ""]
    return "\n".join(parts)
