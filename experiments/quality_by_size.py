"""The picture at the top of the README: quality against file size, 0.25 to 25 MB, all methods.

    python -m experiments.quality_by_size draw

It reads what `experiments.sizes` and `experiments.table2` measured: ours at every size, rivals
where they were fitted, and the full model in float32. Sizes are Amazon-Book's megabytes; other
data sets have as many bytes per item.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from statistics import mean
from typing import Any

from experiments import figures, lines, paper
from experiments.command import make_app
from experiments.comparison import SIZES, Measurements
from experiments.equal_bytes import TINY
from experiments.figures import Curve
from experiments.sizes_table import model_of
from experiments.tasks import NEIGHBOURS_ALONE, OURS

NAME = "quality-by-size"
TITLES = {
    "amazon-book": "Amazon-Book",
    "yelp2018": "Yelp2018",
    "gowalla": "Gowalla",
    "goodbooks": "goodbooks",
}
TICKS = (0.25, 0.5, 1, 2, 5, 10, 25)
LEFT_OUT = ("truncation", "faiss-sq8", "faiss-sq4", "uniform")
"""Methods of `experiments.sizes` that better ones of Table 2 stand for."""
app = make_app(__doc__)


@app.command()
def draw() -> None:
    """Write docs/figures/quality-by-size.svg."""
    found = {dataset: series(dataset) for dataset in TITLES}
    found = {dataset: points for dataset, points in found.items() if points}
    if not found:
        print("nothing measured yet")
        return
    with figures.panels(NAME, columns=len(found), width=4.6, height=3.6) as axes:
        for axis, (dataset, points) in zip(axes[0], found.items(), strict=True):
            figures.curves(axis, curves_of(dataset, points), logarithmic=True)
            axis.set_xticks(TICKS, [f"{mb:g}" for mb in TICKS])
            axis.minorticks_off()
            axis.set_title(TITLES[dataset], loc="left", fontweight="bold")
            axis.set_xlabel("file size, MB (of Amazon-Book's items)")
            axis.set_ylabel("Recall@50")
    print(f"docs/figures/{NAME}.svg: {', '.join(found)}")


def series(dataset: str, metric: str = "recall@50") -> dict[str, dict[float, float]]:
    """Each method's mean over seeds at each size; `full` is the float32 model at size 0."""
    found = [line for line in lines.read("sizes") if line["dataset"] == dataset]
    out, measured = _of_sizes(found, metric), Measurements(lines.RESULTS)
    tabled = {
        row: {
            float(mb): value
            for mb in (*TINY, *SIZES)
            if (value := measured.value(dataset, row, mb, metric))
        }
        for row in measured.rows(dataset)
        if row.method != OURS or row == measured.ours(dataset)
    }
    # Where Table 2 begins, nothing else counts: it is on every test user. A rival that it has below
    # that, too, is the table's alone: the other experiment may spend its bytes otherwise.
    begins = min((mb for x in tabled.values() for mb in x if mb in SIZES), default=float("inf"))
    firsts = {str(row): min(values) for row, values in tabled.items() if values}
    for label, points in out.items() if firsts else ():
        whole = label == "full" and not found[-1]["config"].get("test_users")
        first = begins if firsts.get(label, begins) >= begins else 0.0
        out[label] = {mb: value for mb, value in points.items() if whole or 0 < mb < first}
    for row, values in tabled.items():
        out[str(row)] |= values
    return {label: dict(points) for label, points in out.items() if points}


def _of_sizes(found: Iterable[dict[str, Any]], metric: str) -> defaultdict[str, dict[float, float]]:
    """The newest lines of `experiments.sizes`, for persons with a vector where a method has one.

    Neighbours alone use no vector; of the weights fitted for either kind of person they take the
    better ones, at each size.
    """
    wanted = [
        line for line in found
        if line["method"] not in LEFT_OUT and line.get("ids") in (None, "none")
    ]  # fmt: skip
    newest = model_of(wanted[-1]) if wanted else ""
    values: defaultdict[tuple[str, float], dict[int, float]] = defaultdict(dict)
    for line in wanted:
        by_history = line["method"] == OURS and line["person"] == "history"
        old = model_of(line) != newest
        if not (old or by_history):
            full = line["nominal_mb"] is None
            key = ("full", 0.0) if full else (line["method"], float(line["nominal_mb"]))
            best = values[key].get(line["seed"], 0.0) if line["method"] in NEIGHBOURS_ALONE else 0.0
            values[key][line["seed"]] = max(best, line["metrics"][metric])
    out: defaultdict[str, dict[float, float]] = defaultdict(dict)
    for (label, mb), each in values.items():
        out[label][mb] = mean(each.values())
    return out


def curves_of(dataset: str, points: dict[str, dict[float, float]]) -> list[Curve]:
    """The curves of one panel: ours bold, neighbours alone and the paper's in their colours."""
    found, grey = [], 0
    for label, values in points.items():
        method = label.partition(",")[0]
        if label == "full":
            span = dict.fromkeys((0.25, 25), values[0.0])
            found.append(Curve("full model, float32", span, figures.INK, dashed=True, marks=False))
        elif method == OURS:
            found.append(Curve(label, values, figures.OURS, bold=True))
        elif method in NEIGHBOURS_ALONE:
            found.append(Curve(label, values, figures.NEIGHBOURS))
        elif method.startswith("rule"):
            found.append(Curve(label, values, figures.PAPER))
        else:
            found.append(Curve(label, values, figures.OTHERS[grey % len(figures.OTHERS)]))
            grey += 1
    if dataset == "amazon-book":
        cells = {float(mb): paper.printed(dataset, OURS, mb, "recall@50") for mb in paper.SIZES}
        kept = {mb: value for mb, value in cells.items() if value is not None}
        found.append(Curve("RULE as printed in the paper", kept, figures.PAPER, dashed=True))
    return found


if __name__ == "__main__":
    app()
