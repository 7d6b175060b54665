"""What a file of each size is worth: ours beside other ways to spend the same bytes, on test.

    python -m experiments.sizes run --models DIR
    python -m experiments.sizes run --smoke
    python -m experiments.sizes draw

DIR holds model folders named `<dataset>-<seed>`, as `experiments.kept assemble` leaves them. A
model is coded and gets its estimator on the way, unless it has them. Budgets are Amazon-Book's
bytes per item at 0.5 to 25 MB. Ours is searched and packed, its whole file counted, and measured
the way a device ranks, for persons with a vector and by history alone. Test is read last.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from elasticrec.blocks.folder import ModelFolder
from elasticrec.customizing import Customizer, make_ready
from elasticrec.rule.estimator.config import EstimatorConfig, SamplesConfig
from elasticrec.presets import preset
from elasticrec.space.budget import Budget
from experiments import lines
from experiments.command import make_app
from experiments.equal_bytes import AMAZON_ITEMS
from experiments.rivals import OnTest, rivals_of
from experiments.sizes_table import NOMINAL, table

if TYPE_CHECKING:
    from elasticrec.search.answers import Answer
    from elasticrec.space.composition import Composition

app = make_app(__doc__)
METRICS = tuple(f"{name}@{k}" for name in ("recall", "ndcg") for k in (20, 50, 100))
WITH_IDS = 5
"""The nominal size that is also packed with the original ids."""


@dataclass(frozen=True)
class Setting:
    """What is measured, and how the estimator is made where a model has none."""

    samples: SamplesConfig
    fitting: EstimatorConfig
    nominal: tuple[float, ...] = NOMINAL
    test_users: int = 0
    """Test users, drawn by a seed; 0 is everyone."""
    refine: int = 0
    """Candidates re-ranked by real evaluation on validation."""
    again: tuple[float, ...] = ()
    """Sizes to measure again; all of them are searched, since larger ones contain smaller ones."""
    device: str = "auto"
    rivals: bool = True
    """Whether other ways to spend the bytes are measured, too."""


@app.command()
def run(
    models: Annotated[Path | None, typer.Option(help="Folder of model folders.")] = None,
    only: Annotated[str | None, typer.Option(help="A model's name, such as gowalla-0.")] = None,
    samples: Annotated[int | None, typer.Option(help="β: compositions measured.")] = None,
    users: Annotated[int | None, typer.Option(help="μ: validation users.")] = None,
    test_users: Annotated[int, typer.Option(help="Test users (seeded); 0 is everyone.")] = 0,
    refine: Annotated[int, typer.Option(help="Candidates re-ranked by real evaluation.")] = 20,
    smoke: Annotated[
        bool, typer.Option("--smoke", help="A tiny made world, printed and not recorded.")
    ] = False,
    again: Annotated[
        str, typer.Option(help="Sizes to measure again, separated by commas, such as 10,25.")
    ] = "",
    device: str = "auto",
    rivals: Annotated[
        bool, typer.Option("--rivals/--no-rivals", help="Measure other ways to spend bytes, too.")
    ] = True,
) -> None:
    """Measure every model that has no lines yet."""
    if smoke:
        run_smoke()
        return
    if models is None:
        raise typer.BadParameter("--models is needed without --smoke")
    chosen = preset("default")
    learned = replace(
        chosen.samples,
        n_samples=samples or chosen.samples.n_samples,
        n_users=users or chosen.samples.n_users,
    )
    wanted = tuple(float(each) for each in again.split(",") if each)
    setting = Setting(
        learned, chosen.estimator, NOMINAL, test_users, refine, wanted, device, rivals
    )
    for path in sorted(p for p in models.iterdir() if (p / "model.json").exists()):
        if only is not None and path.name != only:
            continue
        folder = ModelFolder.open(path)
        dataset, _, seed = path.name.rpartition("-")
        config = _config(folder, setting)
        done = {
            (line["dataset"], line["seed"], line["config_hash"]) for line in lines.read("sizes")
        }
        if (dataset, int(seed), lines.config_hash(config)) in done and not wanted:
            print(f"{path.name}: done")
            continue
        known = {"dataset": dataset, "split": folder.split().kind, "seed": int(seed)}
        for line in measured(folder, setting):
            # With ids it is another measurement, so its settings must not be the same.
            settings = config | ({"ids": line["ids"]} if line.get("ids") == "u32" else {})
            lines.append("sizes", {**known, "config": settings, **line})
            _tell(line)


def _config(folder: ModelFolder, setting: Setting) -> dict[str, Any]:
    """What the numbers of one model depend on, the seed of its training aside."""
    return {
        "samples": asdict(setting.samples),
        "fitting": asdict(setting.fitting),
        "search": asdict(preset("default").search) | {"refine": setting.refine},
        "model": folder.about["train"] | {"seed": 0},
        "space": folder.about["space"] | {"seed": 0},
        "test_users": setting.test_users,
    }


def measured(folder: ModelFolder, setting: Setting) -> Iterator[dict[str, Any]]:
    """A line per method, size and kind of person, without what names the model."""
    from elasticrec.search.answers import answer_budgets
    from elasticrec.search.measuring import validation_quality

    started = time.perf_counter()
    make_ready(
        folder, setting.samples, setting.fitting,
        device=setting.device, tell=lambda what: print(f"{folder.root.name}: {what}"),
    )  # fmt: skip
    preparing = time.perf_counter() - started
    plain = Customizer(folder, ids="none")
    on_test = OnTest(folder, METRICS, setting.test_users, setting.device)
    yield {"method": folder.table().base, "person": "vector", **on_test.full()}
    per_item = {mb: mb * 1e6 / AMAZON_ITEMS for mb in setting.nominal}
    n_items = plain.searcher.groups.n_items
    nominal = {Budget(round(each * n_items)): mb for mb, each in per_item.items()}
    config = replace(preset("default").search, refine=setting.refine)
    quality = validation_quality(plain.searcher, many=True) if setting.refine else None
    answers = answer_budgets(
        plain.searcher, list(nominal), config, controls=("uniform",), evaluate=quality
    )
    for answer in answers:
        mb = nominal[answer.budget]
        if setting.again and mb not in setting.again:
            continue
        yield from _ours(plain, answer, mb, on_test, preparing)
        if mb == WITH_IDS:
            named = Customizer(folder, ids="original")
            with_ids = answer_budgets(
                named.searcher, [answer.budget], config, controls=(), evaluate=quality
            )
            for line in _ours(named, with_ids[0], mb, on_test, preparing):
                yield line | {"ids": "u32"}
        others = rivals_of(folder, plain, answer.budget, on_test) if setting.rivals else ()
        for rival in others:
            yield {"budget_mb": answer.budget.n_bytes / 1e6, "nominal_mb": mb, **rival}


def _ours(
    customizer: Customizer, answer: Answer, mb: float, on_test: OnTest, preparing: float
) -> Iterator[dict[str, Any]]:
    """Lines of what was searched, and of `uniform` where it was asked for; each is packed."""
    for found in (answer.searched, *answer.controls):
        made = customizer.packed(answer.budget, found)
        for person in on_test.persons:
            yield {
                "method": "ours" if found.method == "searched" else found.method,
                "person": person,
                "budget_mb": answer.budget.n_bytes / 1e6,
                "nominal_mb": mb,
                "file_bytes": len(made.content),
                "dimensions": customizer.material.codes.dimensions,
                "metrics": on_test.coded(found.composition, person),
                "seconds": found.seconds,
                "preparing_seconds": preparing,
                "estimate": found.estimate,
                "kept": _kept(found.composition),
                "ids": "none",
            }


def _kept(composition: Composition) -> list[list[int]]:
    """Planes and neighbours per item of every group."""
    planes = composition.depths.astype(np.int64).sum(axis=1)
    return np.column_stack([planes, composition.neighbours]).tolist()


def _tell(line: dict[str, Any]) -> None:
    """Print a line in short."""
    size = "" if line.get("budget_mb") is None else f"{line['budget_mb']:.3f} MB "
    recall, coverage = line["metrics"]["recall@50"], line["metrics"]["coverage"]
    print(
        f"{size}{line['method']} {line['person']}: recall@50 {recall:.4f}, coverage {coverage:.2f}"
    )


def run_smoke() -> None:
    """Measure a tiny made world, print its lines, and record nothing."""
    from elasticrec.training.table import BlockTable
    from elasticrec.data.synthetic import planted_world
    from elasticrec.space.regroup import SpaceConfig, regroup_folder

    split = planted_world(300, 200, 6_000, np.random.default_rng(0), n_clusters=8)
    U, S, Vt = np.linalg.svd(split.train.csr().toarray(), full_matrices=False)
    users, items = (U[:, :32] * S[:32]).astype(np.float32), Vt[:32].T.astype(np.float32)
    samples = SamplesConfig(n_samples=60, n_users=60, metric="recall@50", n_held_out=0)
    fitting = EstimatorConfig(
        smooth=3, widths=(8,), learning_rates=(0.02,), l2s=(1e-2,), steps=60, max_rounds=1
    )
    with tempfile.TemporaryDirectory() as place:
        folder = ModelFolder.create(Path(place) / "made-0")
        folder.save_model(split, BlockTable(items.reshape(-1, 4, 8), users, "mf"))
        regroup_folder(folder, SpaceConfig(n_groups=5))
        for line in measured(folder, Setting(samples, fitting, (2, 5), refine=4, device="cpu")):
            _tell(line)


@app.command()
def draw() -> None:
    """Print the table of what `run` measured."""
    print(table())


if __name__ == "__main__":
    app()
