"""Ours of Table 2 measured more than once: by the same settings again, or by others before them.

    python -m experiments.reruns draw

The table shows the newest settings of a row and the newest line of each seed. What was measured
before stays in the results; beside each other the lines show by how much a row moves when nothing
but chance has changed, which a column that is won or lost by less cannot tell apart.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import Any

from experiments import lines, paired
from experiments.command import make_app
from experiments.comparison import SIZES, word_of
from experiments.paper import METRICS
from experiments.tasks import CHOSEN_BY, MEASURED, NEIGHBOURS_ALONE, OURS, PERSON, chosen_by

SEEDS = 3
"""What has fewer at some size is no rerun of a row."""
P = 0.05
app = make_app(__doc__)

Run = tuple[str, str, str]
"""Data set, hash of the settings, commit."""


@app.command()
def draw() -> None:
    """Print every whole run of ours that can be compared with another of its data set."""
    print(table())


def table(results: Path | None = None) -> str:
    """Each run's means at every size, and the columns that no test says it is ahead in."""
    place = results or lines.RESULTS
    rows = [
        "| data set | commit | blocks, chosen by "
        f"| {' | '.join(word_of(metric) for metric in METRICS)} "
        "| not ahead of a dense rival with p < 0.05 |",
        "|---|---|---|" + "---|" * (len(METRICS) + 1),
    ]
    behind = unclear(place)
    for run, by_size in sorted(runs(place).items(), key=lambda pair: pair[0][0]):
        dataset, _, commit = run
        cells = [
            " ".join(f"{mean(x['metrics'][metric] for x in by_size[mb]):.4f}" for mb in SIZES)
            for metric in METRICS
        ]
        columns = "<br>".join(behind.get(run, [])) or "–"
        how = _how(by_size[SIZES[0]][0]["config"])
        rows.append(f"| {dataset} | {commit[:7]} | {how} | {' | '.join(cells)} | {columns} |")
    return "\n".join(rows)


def _how(config: dict[str, Any]) -> str:
    """The width of a run's table, and how it chose."""
    measured = ", measured" if config.get("settings", {}).get(MEASURED) else ""
    return f"{config['train']['n_blocks']}, {config['chosen_by']}{measured}"


def runs(results: Path) -> dict[Run, dict[float, list[dict[str, Any]]]]:
    """Lines by run and size, of data sets with several whole runs."""
    found: dict[Run, dict[float, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    both = [
        line for name in (f"table2{lines.SUPERSEDED}", "table2")
        for line in lines.read_from(results, name, key=(*lines.KEY, "commit"))
    ]  # fmt: skip
    for line in both:
        mine = line["method"] == OURS and line["person"] == PERSON
        by = line["config"].get("chosen_by")
        if mine and by in (CHOSEN_BY, chosen_by(line["dataset"])):
            run = line["dataset"], line["config_hash"], line["commit"]
            found[run][float(line["nominal_mb"])].append(line)
    whole = {
        run: by_size for run, by_size in found.items()
        if all(len(by_size[float(mb)]) >= SEEDS for mb in SIZES)
    }  # fmt: skip
    count = defaultdict[str, int](int)
    for dataset, _, _ in whole:
        count[dataset] += 1
    return {run: by_size for run, by_size in whole.items() if count[run[0]] > 1}


def unclear(results: Path) -> dict[Run, list[str]]:
    """Columns in which a run is not ahead of some dense rival with p < 0.05, where tested."""
    out = defaultdict[Run, list[str]](list)
    for line in lines.read_from(results, paired.EXPERIMENT, key=(*lines.KEY, "metric", "commit")):
        metric, test = line.get("metric", paired.FIRST), line["metrics"]
        ahead = test["difference"] > 0 and test["p"] < P
        counts = line["method"] not in NEIGHBOURS_ALONE and float(line["nominal_mb"]) in SIZES
        if counts and not ahead and line["config"]["seeds"] >= SEEDS:
            which = f"{word_of(metric)} {line['nominal_mb']:g} MB"
            told = f"{which} ({line['method']} {test['difference']:+.4f}, p {test['p']:.1g})"
            out[line["dataset"], line["config"]["ours"], line["commit"]].append(told)
    return dict(out)


if __name__ == "__main__":
    app()
