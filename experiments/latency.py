"""How long a device takes for one person, and how much memory: the benchmark, drawn.

    python -m experiments.latency run          # the benchmark itself, on this machine
    python -m experiments.latency run --smoke  # a tiny bundle, printed and not recorded
    python -m experiments.latency draw

The paper reports the time for a full ranked list on one core (its "IoT") and on four ("cellphone")
of a simulated machine; here it is the Python runtime on the cores of the machine named beside the
numbers, each core with a person of its own.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments import figures, lines
from experiments.command import make_app
from experiments.provenance import ROOT

RESULTS = ROOT / "benchmarks" / "results"
NAME = "latency"
TASKS = {"scoring": "scores alone", "top-100": "the 100 best", "full-list": "the full list"}
ITEMS = {91_599: "Amazon-Book's items", 105_843: "Yelp2020's items"}
PRINTED = {(91_599, 25, "four"): 148.5, (105_843, 25, "four"): 203.19}
"""Milliseconds the paper prints for 25 MB on four cores."""
LIMITS = {5: 200.0, 25: 1000.0}
"""Milliseconds under which the paper says its full list is made on one core."""
app = make_app(__doc__)


@app.command()
def run(
    people: Annotated[int, typer.Option(help="Persons per measurement.")] = 30,
    smoke: Annotated[bool, typer.Option("--smoke", help="A tiny bundle alone.")] = False,
) -> None:
    """Run the benchmark of the device runtimes."""
    if smoke:
        run_smoke()
        return
    command = [sys.executable, "-m", "benchmarks.device", "--people", str(people)]
    raise typer.Exit(subprocess.run(command, check=False, cwd=ROOT).returncode)


def run_smoke() -> dict[str, float]:
    """Milliseconds of the 100 best and of the full list on a tiny bundle, printed, not recorded."""
    from benchmarks.plain.bundle import make_bundle

    sys.path.insert(0, str(ROOT / "device" / "python"))
    device = importlib.import_module("elasticrec_device")
    found = {}
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "made.elastic"
        bundle, vector = make_bundle(3_000, 0.2, columns=True, seed=0)
        path.write_bytes(bundle)
        path.with_suffix(".vector").write_bytes(vector)
        with device.open(path) as opened:
            for task, k in (("top-100", 100), ("full-list", 3_000)):
                start = time.perf_counter()
                listed = opened.recommend([1, 20, 300], path.with_suffix(".vector"), k)
                found[task] = (time.perf_counter() - start) * 1e3
                print(f"{TASKS[task]}: {len(listed)} items in {found[task]:.2f} ms")
    return found


@app.command()
def draw() -> None:
    """Print the table and write docs/figures/latency.svg."""
    print(table())
    draw_figure()


def measured() -> dict[tuple[int, int, float, str], dict[str, Any]]:
    """The newest lines by items, cores, megabytes and task, of bundles with neighbours."""
    out = {}
    for line in lines.read_from(RESULTS, "device"):
        about = line["config"]
        if line["method"] in TASKS and about["keeps"] != "columns":
            key = about["items"], about["cores"], float(line["budget_mb"]), line["method"]
            out[key] = line
    return out


def table() -> str:
    """Milliseconds per person by size, cores and task, as a Markdown table."""
    found = measured()
    rows = [
        "| items | cores | MB | scores alone | the 100 best | full list | the paper | machine |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for items, cores, mb in sorted({key[:3] for key in found}):
        each = [found.get((items, cores, mb, task)) for task in TASKS]
        cells = ["–" if line is None else f"{line['metrics']['value']:.1f}" for line in each]
        machine = next(line["machine"] for line in each if line is not None)
        said = f"< {LIMITS[int(mb)]:.0f} ms" if cores == 1 and int(mb) in LIMITS else "–"
        if cores > 1 and (items, int(mb), "four") in PRINTED:
            said = f"{PRINTED[items, int(mb), 'four']} ms on four cores"
        shown = " | ".join(cells)
        rows.append(f"| {items:,} | {cores} | {mb:g} | {shown} | {said} | {machine} |")
    return "\n".join(rows)


def claims() -> dict[str, bool | None]:
    """Whether the full list is made as fast as the paper says; None where it was not measured."""
    found = measured()
    out: dict[str, bool | None] = {}
    for mb, limit in LIMITS.items():
        each = [
            line["metrics"]["value"] for (_, cores, size, task), line in found.items()
            if (cores, size, task) == (1, mb, "full-list")
        ]  # fmt: skip
        out[f"{mb} MB in under {limit:.0f} ms on one core"] = max(each) < limit if each else None
    return out


def draw_figure() -> bool:
    """Whether there was anything to draw."""
    found = measured()
    known = [items for items in ITEMS if any(key[0] == items for key in found)]
    if not known:
        print("nothing measured yet: run benchmarks.device")
        return False
    colours = dict(zip(TASKS.values(), (figures.OTHERS[1], figures.OURS, figures.INK), strict=True))
    with figures.panels(NAME, columns=len(known), height=2.8) as axes:
        for axis, items in zip(axes[0], known, strict=True):
            sizes = sorted({key[2] for key in found if key[0] == items})
            groups = {
                f"{mb:g} MB": {
                    words: found[items, 1, mb, task]["metrics"]["value"]
                    for task, words in TASKS.items()
                    if (items, 1, mb, task) in found
                }
                for mb in sizes
            }
            figures.bars(axis, groups, colours, "ms per person, one core")
            axis.set_title(f"{items:,}: {ITEMS[items]}", loc="left", fontweight="bold")
            axis.legend(frameon=False, fontsize=8)
    return True


if __name__ == "__main__":
    app()
