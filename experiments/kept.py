"""Trained tables in half precision and small files, to carry from where they were trained.

    python -m experiments.kept assemble --kept DIR --data DIR --models DIR

makes a model folder of every table kept by `experiments.bases run --keep DIR`. What is searched and
packed later is the table as carried: rounded to float16 once, before anything else.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from elasticrec.blocks.folder import ModelFolder
from elasticrec.training.table import BlockTable
from elasticrec.data.splitting import Split
from experiments.command import make_app

if TYPE_CHECKING:
    from elasticrec.training.config import TrainConfig
    from elasticrec.training.loop import Trained

PART_BYTES = 14_000_000
app = make_app(__doc__)


def keep(folder: Path, name: str, table: BlockTable, config: Any, progress: Any) -> None:
    """Write a table as float16 parts of at most PART_BYTES, and its settings as JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    for noun, vectors in (("users", table.users), ("items", table.items)):
        if vectors is None:
            continue
        half = vectors.astype(np.float16)
        rows = max(1, PART_BYTES // (2 * half.shape[1]))
        for number, start in enumerate(range(0, len(half), rows)):
            np.save(folder / f"{name}.{noun}.{number}.npy", half[start : start + rows])
    about = {"config": asdict(config), "progress": asdict(progress), "score": table.score}
    (folder / f"{name}.json").write_text(json.dumps(about), encoding="utf-8")


def load(folder: Path, name: str) -> tuple[BlockTable, dict[str, Any]]:
    """The table, float32 again, and its settings."""
    about = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    users, items = _joined(folder, f"{name}.users"), _joined(folder, f"{name}.items")
    if items is None:
        raise FileNotFoundError(f"{folder} has no {name}.items.0.npy")
    config = about["config"]
    blocks = items.reshape(-1, config["n_blocks"], config["block_size"])
    by_softmax = users is not None and config["loss"] == "softmax"
    return (
        BlockTable(
            blocks,
            users,
            config["base"],
            about["score"],
            temperature=config["temperature"] if by_softmax else None,
        ),
        about,
    )


def trained(folder: Path, name: str, split: Split) -> tuple[Trained, TrainConfig]:
    """What a kept training left, with its map for persons known by history, and its settings."""
    from elasticrec.training.checkpoint import Progress
    from elasticrec.training.config import TrainConfig
    from elasticrec.training.loop import Trained
    from elasticrec.training.setup import fit_fold_map

    table, about = load(folder, name)
    done = Trained(fit_fold_map(table, split.train), None, Progress(**about["progress"]))
    return done, TrainConfig(**about["config"])


def _joined(folder: Path, stem: str) -> np.ndarray | None:
    """The parts of a matrix in their order, float32; None where there are none."""
    parts = sorted(folder.glob(f"{stem}.*.npy"), key=lambda path: int(path.suffixes[-2][1:]))
    if not parts:
        return None
    return np.asarray(np.concatenate([np.load(path) for path in parts]), dtype=np.float32)


@app.command()
def assemble(
    kept: Annotated[Path, typer.Option(help="Folder of kept tables.")],
    data: Annotated[Path, typer.Option(help="Folder of prepared splits.")],
    models: Annotated[Path, typer.Option(help="Folder to write model folders into.")],
    groups: Annotated[int, typer.Option(help="G: popularity groups.")] = 20,
) -> None:
    """Make a model folder, grouped and renumbered, of every kept table."""
    from elasticrec.presets import preset
    from elasticrec.training.model import finish

    for path in sorted(kept.glob("*.json")):
        folder = ModelFolder.create(models / path.stem)
        if folder.has("table"):
            print(f"{path.stem}: there already")
            continue
        split = Split.load(data / f"{path.stem.rpartition('-')[0]}.npz")
        done, config = trained(kept, path.stem, split)
        space = replace(preset("default").space, n_groups=groups)
        finish(split, done, config, space).save(folder)
        print(f"{path.stem}: {folder.model_id[:12]}")


if __name__ == "__main__":
    app()
