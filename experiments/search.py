"""Does the search pay? Searched compositions beside the controls, on test, for every seed.

    python -m experiments.search run --models DIR
    python -m experiments.search draw

DIR holds model folders named `<dataset>-<seed>`, as `experiments.bases run --keep DIR` leaves them.
Budgets are the 5, 10 and 25 MB equivalents (Amazon-Book's bytes per item), counted as the paper
counts: vectors only. The estimator learns Recall@50 on the validation users; test is read last.
"""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import asdict, replace
from pathlib import Path
from statistics import mean, stdev
from typing import Annotated, Any

import numpy as np
import typer

from elasticrec.blocks.folder import ModelFolder
from elasticrec.rule.estimator.config import EstimatorConfig, SamplesConfig
from elasticrec.presets import preset
from elasticrec.search.answers import ALWAYS, answer_budgets
from elasticrec.rule.problem import Found
from elasticrec.search.searcher import Searcher
from elasticrec.space.budget import Budget
from experiments import lines
from experiments.command import make_app

app = make_app(__doc__)
METRICS = tuple(f"{name}@{k}" for name in ("recall", "ndcg") for k in (20, 50, 100))
NOMINAL = {5: 54.6, 10: 109.2, 25: 272.9}
"""Megabytes on Amazon-Book, and the bytes per item they grant."""
FOUND = preset("default").samples.n_found
CONTROLS = (*ALWAYS, "greedy-measured")
PER_CURVE = 3
"""Groups for each curve of which the estimator makes what depends on the group."""


@app.command()
def run(
    models: Annotated[Path, typer.Option(help="Folder of model folders.")],
    samples: Annotated[int, typer.Option(help="β: compositions measured.")] = 15_000,
    users: Annotated[int, typer.Option(help="μ: validation users.")] = 5_000,
    test_users: Annotated[
        int, typer.Option(help="Test users (seeded) to measure what was found on; 0 is everyone.")
    ] = 0,
    again: Annotated[bool, typer.Option("--again", help="Measure what is there, too.")] = False,
    workers: int = 2,
    device: str = "auto",
) -> None:
    """Estimate, search and measure every model that has no lines yet."""
    learned = SamplesConfig(n_samples=samples, n_found=FOUND, n_users=users, metric="recall@50")
    for path in sorted(p for p in models.iterdir() if (p / "model.json").exists()):
        folder = ModelFolder.open(path)
        dataset, _, seed = path.name.rpartition("-")
        n_groups = folder.about["space"]["n_groups"]
        fitting = replace(preset("default").estimator, smooth=n_groups // PER_CURVE)
        config = {
            "samples": asdict(learned),
            "fitting": asdict(fitting),
            "search": asdict(preset("default").search),
            "model": folder.about["train"] | {"seed": 0},
            "space": folder.about["space"] | {"seed": 0},
            "test_users": test_users,
        }
        done = [
            line
            for line in lines.read("search")
            if (line["dataset"], line["seed"]) == (dataset, int(seed))
            and line["config_hash"] == lines.config_hash(config)
        ]
        if done and not again:
            print(f"{path.name}: done")
            continue
        measure(folder, dataset, int(seed), config, (learned, fitting), workers, device)


def measure(
    folder: ModelFolder,
    dataset: str,
    seed: int,
    config: dict[str, Any],
    settings: tuple[SamplesConfig, EstimatorConfig],
    workers: int,
    device: str,
) -> None:
    """Append one line per budget and method of one model."""
    from elasticrec.search.estimating import estimate_model
    from elasticrec.search.measuring import validation_quality

    built = estimate_model(folder, *settings, workers=workers, device=device)
    print(f"{dataset} {seed}: measured in {built.measuring_seconds:.0f} s, within {built.within}")
    searcher = Searcher(folder)
    budgets = {
        Budget(round(each * searcher.groups.n_items)): nominal for nominal, each in NOMINAL.items()
    }
    started = time.perf_counter()
    quality = validation_quality(searcher, many=True, device="cpu")
    preparing = time.perf_counter() - started
    on_test = OnTest(folder, searcher, config["test_users"], device)
    answers = answer_budgets(
        searcher,
        list(budgets),
        preset("default").search,
        seed=seed,
        controls=CONTROLS,
        evaluate=quality,
    )
    for answer in answers:
        within = built.within.get(str(answer.budget))
        for found in (answer.searched, *answer.controls):
            line: dict[str, Any] = {
                "dataset": dataset,
                "split": folder.split().kind,
                "method": found.method,
                "person": "vector",
                "budget_mb": answer.budget.n_bytes / 1e6,
                "nominal_mb": budgets[answer.budget],
                "file_bytes": found.n_bytes,
                "dimensions": folder.table().dimensions,
                "seed": seed,
                "metrics": on_test.metrics(found),
                # Without an estimator, a climb by real evaluation first counts, then climbs.
                "seconds": found.seconds + preparing * (found.method == "greedy-measured"),
                "climb_seconds": found.seconds if found.method == "greedy-measured" else None,
                "config": config,
                "estimate": found.estimate,
                "within": None if within is None else asdict(within),
                "accounting": "paper",
            }
            lines.append("search", line)
            print(answer.budget, found.method, line["metrics"]["recall@50"], f"{found.seconds:.3f}")


class OnTest:
    """Test metrics of what was found, by the library's own exact evaluation, each once."""

    def __init__(self, folder: ModelFolder, searcher: Searcher, users: int, device: str) -> None:
        self.split, self.table, self.device = folder.split(), folder.table(), device
        self.group = searcher.groups.of_item
        tested = np.flatnonzero(self.split.test.per_user > 0)
        if users and users < len(tested):
            tested = np.sort(np.random.default_rng(0).choice(tested, users, replace=False))
        self.users = tested
        self.known: dict[bytes, dict[str, float]] = {}

    def metrics(self, found: Found) -> dict[str, float]:
        """The metrics of a composition, and the coverage of the catalogue."""
        kept = found.composition.kept
        if kept.tobytes() not in self.known:
            self.known[kept.tobytes()] = self._measure(kept)
        return self.known[kept.tobytes()]

    def _measure(self, kept: np.ndarray) -> dict[str, float]:
        from elasticrec.evaluation.ranking import evaluate

        items = self.table.blocks * kept[self.group][:, :, None]
        found = evaluate(
            self.table,
            self.split,
            metrics=METRICS,
            users=self.users,
            composition_items=items.reshape(len(items), -1),
            device=self.device,
        )
        return found.metrics | {"coverage": found.coverage, "users": found.n_users}


@app.command()
def draw() -> None:
    """Print the table of what `run` measured."""
    print(table())


def table(metric: str = "recall@50") -> str:
    """Each method's mean over seeds and the search's paired lead over it, as a Markdown table."""
    found: dict[tuple[str, int, int], dict[str, dict[int, Any]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for line in lines.read("search"):
        case = line["dataset"], line["config"]["space"]["n_groups"], line["nominal_mb"]
        found[case][line["method"]][line["seed"]] = line
    rows = [
        f"| data set | groups | MB | method | {metric} | lead of the search | deviation | seconds "
        "| seeds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for (dataset, groups, nominal), methods in sorted(found.items()):
        ours = methods["searched"]
        for method in ("searched", *CONTROLS):
            seeds = sorted(set(methods[method]) & set(ours))
            if not seeds:
                continue
            values = [methods[method][seed]["metrics"][metric] for seed in seeds]
            leads = [ours[s]["metrics"][metric] - v for s, v in zip(seeds, values, strict=True)]
            spread = f"{stdev(leads):.5f}" if len(leads) > 1 else "–"
            seconds = mean(methods[method][seed]["seconds"] for seed in seeds)
            lead = "–" if method == "searched" else f"{mean(leads):+.5f}"
            rows.append(
                f"| {dataset} | {groups} | {nominal} | {method} | {mean(values):.5f} | {lead} "
                f"| {spread if method != 'searched' else '–'} | {seconds:.3f} | {len(seeds)} |"
            )
    return "\n".join(rows)


if __name__ == "__main__":
    app()
