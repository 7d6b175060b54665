"""What each part is worth: one change at a time, from the paper's method and from ours.

    python -m experiments.ablation run --dataset amazon-book,yelp2018 --gpu --jobs 8
    python -m experiments.ablation run --smoke
    python -m experiments.ablation draw

The paper's changes: popularity (RULE-P) and cluster (RULE-C) groups, no, low and high
regularisation, a dense network as estimator (DNNEst). Then tiled against aligned scores (the two
starts of the paper's method), elastic training, depths, neighbours, the third mutation.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import Any

from experiments import figures, study, study_command
from experiments.command import make_app
from experiments.comparison import word_of
from experiments.equal_bytes import PRINTED
from experiments.jobs import run_all
from experiments.study import StudyTask, Variant
from experiments.table2_session import Session

NAME = "ablation"
DEFAULT = "as it is"
METRICS = ("ndcg@50", "recall@50")
app = make_app(__doc__)
SHARED = (
    Variant("RULE-C", space={"kind": "cluster", "pca": True}),
    Variant("DNNEst", estimator={"kind": "dnn", "smooth": 0}),
    Variant("LowReg", train={"diversity": 1e-6}),
    Variant("HighReg", train={"diversity": 1e-2}),
    Variant("elastic training", train={"elastic": 0.5}),
)
PAPERS = (
    Variant(DEFAULT),
    Variant("RULE-P", space={"kind": "popularity"}),
    *SHARED,
    Variant("NoReg", train={"diversity": 0.0}),
    Variant("a third mutation", search={"mutations": ("swap", "reselect", "move")}),
)
OURS = (
    Variant(DEFAULT),
    Variant("random groups", space={"kind": "random"}),
    *SHARED,
    Variant("λ = 1e-4", train={"diversity": 1e-4}),
    Variant("no third mutation", search={"mutations": ("swap", "reselect")}),
    Variant("no depths", rows="whole"),
    Variant("no neighbours", rows="dense"),
)
VARIANTS = {"rule-printed": PAPERS, "rule-aligned": PAPERS, "ours": OURS}


def work(task: StudyTask) -> str:
    """Measure a task's variants, append their lines, and say them in short."""
    return f"{task}: " + ", ".join(study.record(task, each) for each in study.studied(task))


def run_smoke() -> str:
    """The table of a tiny made world; nothing is recorded."""
    with tempfile.TemporaryDirectory() as place:
        session: Session = study_command.smoke_session(Path(place))
        few = {"rule-printed": PAPERS[:4], "ours": OURS[-2:]}
        run_all(study.tasks(NAME, session, "goodbooks", few, (10,)), work)
        return table(session.results)


study_command.add_run(
    app, NAME, "amazon-book,yelp2018", VARIANTS.__getitem__, PRINTED, work, run_smoke
)


@app.command()
def draw() -> None:
    """Print the table and write docs/figures/ablation.svg."""
    print(table())
    draw_figure()


Cells = dict[tuple[str, str], dict[str, dict[float, list[dict[str, Any]]]]]


def measured(results: Path | None = None) -> Cells:
    """The newest lines by data set and start, then variant in their order, then size."""
    out: Any = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for line in study.newest(results, NAME):
        key = line["dataset"], line["method"]
        out[key][line["variant"]][float(line["nominal_mb"])].append(line)
    starts = list(VARIANTS)
    return {
        key: {v.name: out[key][v.name] for v in VARIANTS[key[1]] if v.name in out[key]}
        for key in sorted(out, key=lambda key: (key[0], starts.index(key[1])))
    }


def value(found: list[dict[str, Any]], metric: str = "ndcg@50") -> float | None:
    """A metric's mean over seeds, or None."""
    return mean(line["metrics"][metric] for line in found) if found else None


def table(results: Path | None = None) -> str:
    """Each variant's NDCG@50 and Recall@50 at each size, and what it gains, in Markdown.

    A star marks a variant of another commit or machine than that which it is held against.
    """
    heads = [f"{word_of(metric)}, {mb} MB" for metric in METRICS for mb in PRINTED]
    rows = ["| data set | start | variant | " + " | ".join(heads) + " | seeds |"]
    rows.append("|---|---|---|" + "---|" * (len(heads) + 1))
    for (dataset, start), variants in measured(results).items():
        for name, sizes in variants.items():
            cells = []
            for metric in METRICS:
                for mb in PRINTED:
                    here = value(sizes.get(mb, []), metric)
                    there = value(variants.get(DEFAULT, {}).get(mb, []), metric)
                    gain = "" if name == DEFAULT or not there or here is None else here / there - 1
                    shown = "–" if here is None else f"{here:.4f}"
                    cells.append(shown if gain == "" else f"{shown} ({gain:+.1%})")
            seeds = max(len(some) for some in sizes.values())
            star = "*" * (_origins(sizes) != _origins(variants.get(DEFAULT, sizes)))
            head = f"| {dataset} | {start} | {name}{star} | "
            rows.append(head + " | ".join(cells) + f" | {seeds} |")
    return "\n".join(rows)


def _origins(sizes: dict[float, list[dict[str, Any]]]) -> set[tuple[str, str]]:
    """The commits and machines of a variant's lines."""
    return {(line["commit"], line["machine"]) for found in sizes.values() for line in found}


def draw_figure() -> bool:
    """Whether there was anything to draw: a panel per start, and a row per data set and metric."""
    found = measured()
    if not found:
        print("nothing measured yet")
        return False
    from matplotlib.lines import Line2D

    datasets = list(dict.fromkeys(dataset for dataset, _ in found))
    starts = [start for start in study_command.STARTS if any(s == start for _, s in found)]
    shades = {f"{mb} MB": c for mb, c in zip(PRINTED, figures.BLUES, strict=True)}
    rows = [(dataset, metric) for dataset in datasets for metric in METRICS]
    with figures.panels(NAME, len(starts), len(rows), width=4.6, height=3.0) as axes:
        for row, (dataset, metric) in zip(axes, rows, strict=True):
            for axis, start in zip(row, starts, strict=True):
                variants = found.get((dataset, start), {})
                if DEFAULT not in variants:
                    axis.set_axis_off()
                    continue
                groups = {
                    name: {
                        f"{mb} MB": v for mb in PRINTED if (v := value(some.get(mb, []), metric))
                    }
                    for name, some in variants.items()
                }
                figures.dots(axis, groups, shades, word_of(metric))
                axis.set_title(f"{dataset}, from {start}", loc="left", fontweight="bold")
        marks = [
            Line2D([], [], color=c, marker="o", linestyle="", label=n) for n, c in shades.items()
        ]
        axes[0, 0].figure.legend(handles=marks, frameon=False, ncols=3, loc="outside upper right")
    return True


if __name__ == "__main__":
    app()
