"""Does a better estimator find better compositions? Training RMSE at four stages against NDCG@50.

    python -m experiments.estimator run --dataset yelp2018 --gpu
    python -m experiments.estimator run --smoke
    python -m experiments.estimator draw

The estimator is fitted four times from the same start on the same measured compositions, for an
eighth of a round, a quarter, a half and a whole one; each then searches 10 MB.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from experiments import figures, lines, study, study_command
from experiments.command import make_app
from experiments.jobs import run_all
from experiments.study import Studied, StudyTask, Variant

NAME = "estimator"
SIZE = 10
STAGES = (8, 4, 2, 1)
"""Shares of a whole round: one over each."""
STEPS = 1200
LEAST = 0.001
"""Room above and below what is drawn, so that noise does not fill a panel."""
COLOURS = {"rule-printed": figures.PAPER, "rule-aligned": "#b08ac4", "ours": figures.OURS}
app = make_app(__doc__)


def variants(steps: int = STEPS) -> list[Variant]:
    """The four stages."""
    return [
        Variant(f"{steps // share} steps", estimator={"steps": steps // share, "max_rounds": 1})
        for share in STAGES
    ]


def work(task: StudyTask) -> str:
    """Measure a task's stages, append their lines, and say them in short."""
    said = []
    for each in study.studied(task):
        said.append(study.record(task, each, **training_error(each)))
    return f"{task}: " + ", ".join(said)


def training_error(found: Studied) -> dict[str, float]:
    """RMSE and rank correlation of an estimator on the compositions it was fitted on."""
    from elasticrec.rule.estimator.building import LEDGER
    from elasticrec.rule.estimator.correlation import rmse, spearman
    from elasticrec.rule.estimator.ledger import Ledger
    from elasticrec.rule.estimator.measuring import measuring_of
    from elasticrec.rule.estimator.model import Estimator

    folder, samples = found.ready.folder, found.plan.preset.samples
    accounting = "file" if found.plan.coded else "paper"
    measuring = measuring_of(folder, samples, accounting=accounting)
    with Ledger(folder.root / LEDGER, measuring.fingerprint) as ledger:
        known = ledger.samples(range(samples.n_samples))
    guessed = Estimator.load(folder.path("estimator")).predict(known.depths, known.neighbours)
    return {"rmse": rmse(guessed, known.values), "spearman": spearman(guessed, known.values)}


def run_smoke() -> str:
    """The table of a tiny made world; nothing is recorded."""
    with tempfile.TemporaryDirectory() as place:
        session = study_command.smoke_session(Path(place))
        few = {"rule-printed": variants(80), "ours": variants(80)[3:]}
        run_all(study.tasks(NAME, session, "goodbooks", few, (SIZE,)), work)
        return table(session.results)


study_command.add_run(app, NAME, "yelp2018", lambda _: variants(), (SIZE,), work, run_smoke)


def measured(results: Path | None = None) -> dict[tuple[str, str], list[tuple[float, float]]]:
    """(RMSE, NDCG@50) of each stage, means over seeds, the largest error first."""
    values: Any = defaultdict(lambda: defaultdict(list))
    for line in lines.read_from(results or lines.RESULTS, NAME):
        pair = line["rmse"], line["metrics"]["ndcg@50"]
        values[line["dataset"], line["method"]][line["variant"]].append(pair)
    out = {}
    for key, stages in values.items():
        means = [
            tuple(mean(column) for column in zip(*each, strict=True)) for each in stages.values()
        ]
        out[key] = sorted(means, reverse=True)
    return out


def claims() -> list[tuple[str, str, bool]]:
    """Data set, start and whether a lower training error went with a better result there."""
    return [
        (*key, bool(np.corrcoef(np.array(pairs).T)[0, 1] < 0))
        for key, pairs in sorted(measured().items())
        if len(pairs) == len(STAGES)
    ]


def table(results: Path | None = None) -> str:
    """Training RMSE and NDCG@50 of every stage, as a Markdown table."""
    heads = " | ".join(f"stage {n}: RMSE, NDCG@50" for n in range(1, len(STAGES) + 1))
    rows = [f"| data set | start | {heads} |", "|---|---|" + "---|" * len(STAGES)]
    for (dataset, start), pairs in sorted(measured(results).items()):
        cells = [f"{error:.5f}, {value:.4f}" for error, value in pairs]
        cells += ["–"] * (len(STAGES) - len(cells))
        rows.append(f"| {dataset} | {start} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


@app.command()
def draw() -> None:
    """Print the table and write docs/figures/estimator.svg."""
    print(table())
    draw_figure()


def draw_figure() -> bool:
    """Whether there was anything to draw: a panel per start, since their errors differ widely."""
    found = measured()
    if not found:
        print("nothing measured yet")
        return False
    datasets = sorted({dataset for dataset, _ in found})
    starts = [start for start in study_command.STARTS if any(s == start for _, s in found)]
    with figures.panels(NAME, len(starts), len(datasets), width=3.6, height=2.6) as axes:
        for row, dataset in zip(axes, datasets, strict=True):
            for axis, start in zip(row, starts, strict=True):
                if (dataset, start) not in found:
                    axis.set_axis_off()
                    continue
                errors, values = zip(*found[dataset, start], strict=True)
                axis.plot(errors, values, marker="o", color=COLOURS[start])
                axis.invert_xaxis()
                axis.ticklabel_format(useOffset=False)
                axis.locator_params(axis="x", nbins=4)
                axis.set_ylim(min(values) - LEAST, max(values) + LEAST)
                axis.set_xlabel("training RMSE (better to the right)")
                axis.set_ylabel("NDCG@50")
                axis.set_title(f"{dataset}, {start}, {SIZE} MB", loc="left", fontweight="bold")
    return True


if __name__ == "__main__":
    app()
