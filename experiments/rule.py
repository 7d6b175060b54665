"""The paper's setting, as printed, by one command.

    python -m experiments.rule run --preset paper-amazon-book --split SPLIT -o MODEL

trains LightGCN + BPR with the tiled score, groups items at random, measures β compositions with the
plain evaluator (a GPU, or a smaller --samples), fits the FM estimator without a linear term,
searches 5, 10 and 25 MB with P, S and C as printed, and measures each on test (method
`rule-printed`). The split should hold out an eighth of everyone's train items, as the paper does:
`elasticrec data prepare … --validation-everyone`. A run that is cut off goes on where it was.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from elasticrec.blocks.folder import ModelFolder
from elasticrec.errors import InputError
from elasticrec.data.splitting import Split
from elasticrec.presets import Preset, check_split
from elasticrec.presets import preset as named
from elasticrec.search.answers import answer_budgets
from elasticrec.search.searcher import Searcher
from elasticrec.space.budget import Budget
from experiments import lines
from experiments.command import make_app
from experiments.search import METRICS, NOMINAL

app = make_app(__doc__)


@app.command()
def run(
    split: Annotated[Path, typer.Option(help="A prepared split.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The model folder to write.")],
    preset: Annotated[str, typer.Option(help="paper-amazon-book or paper-yelp.")],
    samples: Annotated[int | None, typer.Option(help="β; the preset's by default.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Fewer epochs, for a trial.")] = None,
    seed: int = 0,
    workers: int = 2,
    device: str = "auto",
) -> None:
    """Train, estimate, search and measure."""
    chosen = named(preset)
    if not chosen.space.as_printed:
        raise InputError(
            f"preset {preset!r} is not the paper's; expected paper-amazon-book or -yelp"
        )
    train = replace(chosen.train, seed=seed, epochs=epochs or chosen.train.epochs)
    learned = replace(chosen.samples, seed=seed, n_samples=samples or chosen.samples.n_samples)
    chosen = replace(chosen, train=train, samples=learned, space=replace(chosen.space, seed=seed))
    data = Split.load(split)
    check_split(preset, data)
    folder = make(data, ModelFolder.create(output), chosen, workers, device)
    measure(data, folder, chosen, preset, device)


def make(
    data: Split, folder: ModelFolder, chosen: Preset, workers: int, device: str
) -> ModelFolder:
    """The folder with a trained model and its estimator; what is there already is kept."""
    from elasticrec.rule.estimator.building import build_estimator
    from elasticrec.training.model import train_model

    if not folder.has("table"):
        train_model(folder, data, chosen.train, chosen.space, device=device, resume=True)
    if not folder.has("estimator"):
        built = build_estimator(
            folder, chosen.samples, chosen.estimator, workers=workers, device=device
        )
        print(f"measured in {built.measuring_seconds:.0f} s; within budgets {built.within}")
    return folder


def measure(data: Split, folder: ModelFolder, chosen: Preset, preset: str, device: str) -> None:
    """Search the three budgets and append a line for each."""
    from elasticrec.evaluation.ranking import evaluate
    from elasticrec.space.keeping import kept_table

    searcher = Searcher(folder)
    table, split = folder.table(), folder.split()
    budgets = {Budget(round(b * data.n_items)): mb for mb, b in NOMINAL.items()}
    for answer in answer_budgets(
        searcher, list(budgets), chosen.search, seed=chosen.train.seed, controls=()
    ):
        found = answer.searched
        kept = kept_table(table, searcher.groups, found.composition, width_correction=True)
        result = evaluate(kept, split, metrics=METRICS, device=device)
        lines.append(
            "rule",
            {
                "dataset": data.name,
                "split": data.kind,
                "method": "rule-printed",
                "person": "vector",
                "budget_mb": answer.budget.n_bytes / 1e6,
                "nominal_mb": budgets[answer.budget],
                "file_bytes": found.n_bytes,
                "dimensions": table.dimensions,
                "seed": chosen.train.seed,
                "metrics": result.metrics | {"coverage": result.coverage},
                "seconds": found.seconds,
                "config": {"preset": preset} | asdict(chosen) | {"seed": 0},
                "blocks": int(found.composition.kept.sum()),
                "estimate": found.estimate,
            },
        )
        print(f"{answer.budget}: {found.summary()}; test {result}")


if __name__ == "__main__":
    app()
