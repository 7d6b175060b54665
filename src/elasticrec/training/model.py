"""From a split to a model folder: train, group, renumber, save."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime

from elasticrec.blocks.folder import ModelFolder
from elasticrec.compression.rotation import energy_rotation, rotated
from elasticrec.data.splitting import Split
from elasticrec.model import Model
from elasticrec.space.regroup import SpaceConfig, regroup
from elasticrec.training.config import TrainConfig
from elasticrec.training.loop import Step, Trained, train


def train_model(
    folder: ModelFolder,
    split: Split,
    config: TrainConfig,
    space: SpaceConfig,
    *,
    device: str = "auto",
    resume: bool = False,
    stop: Callable[[], bool] = lambda: False,
    report: Callable[[Step], None] | None = None,
) -> Trained:
    """What was trained, after writing the whole model; arguments as in `train`.

    While it trains, the folder holds `checkpoint.safetensors`; it goes when the model is there.
    """
    checkpoint = folder.root / "checkpoint.safetensors"
    trained = train(
        split, config, device=device, checkpoint=checkpoint, resume=resume, stop=stop, report=report
    )
    finish(split, trained, config, space).save(folder)
    checkpoint.unlink(missing_ok=True)
    return trained


def finish(split: Split, trained: Trained, config: TrainConfig, space: SpaceConfig) -> Model:
    """The model of a training, its items grouped and numbered by group, its vectors turned."""
    table = trained.table
    if space.rotate and table.score == "aligned":
        table = rotated(table, energy_rotation(table))
    grouped = regroup(split, table, space)
    near = trained.cooccurrence
    about = {
        "trained": datetime.now(UTC).date().isoformat(),
        "train": asdict(config),
        "space": asdict(space),
        "seconds": round(trained.progress.seconds, 1),
        "epochs": trained.progress.epoch,
        "validation": {config.metric: trained.progress.best},
    }
    return Model(
        grouped.split,
        grouped.table,
        None if near is None else near.renumbered(grouped.groups.order),
        grouped.groups,
        about,
    )
