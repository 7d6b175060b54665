"""The stages of a demo, each of which takes up what an earlier run left, if inputs are the same."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elasticrec.blocks.folder import ModelFolder
from elasticrec.compression.neighbours import Neighbours
from elasticrec.errors import InputError
from elasticrec.data.preparation import PrepareConfig, prepare
from elasticrec.data.split import UNREADABLE, Split
from elasticrec.rule.estimator.building import LEDGER
from elasticrec.rule.estimator.model import Estimator
from elasticrec_demo.report.story import Stage
from elasticrec.search.estimating import estimate_model
from elasticrec.space.regroup import load_groups
from elasticrec.storing import PARTS, StoringConfig, store

if TYPE_CHECKING:
    from elasticrec_demo.config import DemoConfig
    from elasticrec_demo.folder import DemoFolder
    from elasticrec_demo.narrator import Narrator

USERS = 1_000
"""Validation users on whom mixing weights are fitted."""
WORKERS = 2
"""Threads that prepare the measuring of compositions."""


def prepared(place: DemoFolder, config: DemoConfig) -> Split:
    """The split of the source, which also lies in the demo's folder then."""
    embedded = config.source == "goodbooks"
    split = (
        prepare("goodbooks", PrepareConfig(seed=config.seed))
        if embedded
        else Split.load(config.source)
    )
    if not _holds(place.split, split):
        split.save(place.split)
    return split


def _holds(path: Path, split: Split) -> bool:
    """Whether a file is this very split."""
    try:
        return Split.load(path).fingerprint() == split.fingerprint()
    except InputError:
        return False


def trained(place: DemoFolder, split: Split, config: DemoConfig, narrator: Narrator) -> ModelFolder:
    """The folder of a model trained on this split with these settings.

    Ctrl-C ends it as ever, but only after a checkpoint was written.
    """
    found = _found_model(place.model, split, config)
    if found is not None:
        narrator.say(f"found in {place.model}, with the same settings: taken as it is")
        return found
    checkpoint = place.model / "checkpoint.safetensors"
    place.clear_model(keep=checkpoint)
    if _resumable(checkpoint, split, config):
        narrator.say("an earlier run was cut off: going on from where it stopped")
    return _train(ModelFolder.create(place.model), split, config, narrator)


def _train(
    folder: ModelFolder, split: Split, config: DemoConfig, narrator: Narrator
) -> ModelFolder:
    """The folder, after a model was trained into it."""
    from elasticrec.training.loop import InterruptedTraining
    from elasticrec.training.model import train_model

    train, space = config.settings.train, config.settings.space
    with narrator.interruptible() as stop, narrator.training(train) as report:
        try:
            train_model(
                folder, split, train, space,
                device=config.device, resume=True, stop=stop, report=report,
            )  # fmt: skip
        except InterruptedTraining:
            raise KeyboardInterrupt from None
    return folder


def _found_model(root: Path, split: Split, config: DemoConfig) -> ModelFolder | None:
    """The model folder, if it holds a whole model of this split and these settings."""
    from safetensors import SafetensorError

    settings = config.settings
    wanted = {"train": settings.train, "space": settings.space}
    try:
        folder = ModelFolder.open(root)
        if any(folder.about.get(name) != _plain(each) for name, each in wanted.items()):
            return None
        groups = load_groups(folder)
        folder.table()
        same = split.renumbered(groups.order).fingerprint() == folder.split().fingerprint()
    except (*UNREADABLE, SafetensorError):  # damaged or cut off: as good as missing
        return None
    return folder if same else None


def _resumable(checkpoint: Path, split: Split, config: DemoConfig) -> bool:
    """Whether a checkpoint is of this very training; any other is removed."""
    from elasticrec.training.checkpoint import load_checkpoint

    if not checkpoint.exists():
        return False
    try:
        load_checkpoint(checkpoint, config.settings.train, split.fingerprint())
    except InputError:
        checkpoint.unlink()
        return False
    return True


def stored(folder: ModelFolder, config: DemoConfig, narrator: Narrator) -> bool:
    """Whether anything was made: the folder's items are coded then."""
    samples = config.settings.samples
    settings = StoringConfig(n_users=USERS, metric=samples.metric, seed=config.seed)
    started = time.perf_counter()
    with narrator.counting("parts made") as progress:
        made = store(folder, settings, device=config.device, tell=lambda _: progress(1, len(PARTS)))
    if made:
        folder.describe(store_seconds=round(time.perf_counter() - started, 1))
    else:
        narrator.say("found beside the model, with the same settings: taken as it is")
    return made


def estimated(folder: ModelFolder, config: DemoConfig, narrator: Narrator) -> Estimator:
    """The estimator of the folder's model, made with these settings."""
    samples, fitting = config.settings.samples, config.settings.estimator
    accounting = "file" if config.packs else "paper"
    found = _found_estimator(folder, config)
    if found is not None:
        narrator.say("found beside the model, with the same settings: taken as it is")
        return found
    # Draws of a shorter run are taken up, too.
    measured = _plain(samples) | {"n_samples": None, "model": folder.model_id}
    if folder.about.get("measured") != measured:
        (folder.root / LEDGER).unlink(missing_ok=True)
        folder.describe(measured=measured)
    started = time.perf_counter()
    with narrator.counting("compositions measured") as progress:
        built = estimate_model(
            folder, samples, fitting,
            accounting=accounting, workers=WORKERS, device=config.device, progress=progress,
        )  # fmt: skip
    folder.describe(estimate_seconds=round(time.perf_counter() - started, 1))
    return built.estimator


def _found_estimator(folder: ModelFolder, config: DemoConfig) -> Estimator | None:
    """The folder's estimator, if it is that of its model and of these settings."""
    try:
        folder.check("estimator")
        estimator = Estimator.load(folder.path("estimator"))
    except (InputError, OSError):
        return None
    about = _plain_dict(dict(estimator.about))
    wanted = _plain(config.settings.samples) | {"config": _plain(config.settings.estimator)}
    wanted["accounting"] = "file" if config.packs else "paper"
    same = all(about.get(name) == value for name, value in wanted.items())
    return estimator if same else None


def stage_prepared(split: Split, seconds: float) -> Stage:
    """What preparing did."""
    n = len(split.train) + len(split.validation) + len(split.test)
    about = f"{n:,} interactions of {split.n_users:,} users with {split.n_items:,} items"
    return Stage("prepare", about, seconds)


def stage_trained(folder: ModelFolder) -> Stage:
    """What training did."""
    about, table = folder.about, folder.table()
    ((metric, value),) = about["validation"].items()
    what = f"{table.base}, {table.n_blocks} blocks of {table.block_size}, {about['epochs']} epochs"
    return Stage("train", f"{what}: validation {metric} {value:.4f}", about["seconds"])


def stage_stored(folder: ModelFolder) -> Stage:
    """What coding did."""
    table = folder.table()
    planes = 8 * table.n_blocks
    slots = folder.load_part("neighbours", Neighbours.load).slots
    about = f"{planes} bytes of planes and {slots} neighbours of {table.n_items:,} items"
    return Stage("code", about, folder.about.get("store_seconds", 0.0))


def stage_estimated(folder: ModelFolder, estimator: Estimator) -> Stage:
    """What estimating did."""
    about = estimator.about
    seconds = folder.about.get("estimate_seconds", 0.0)
    what = f"{about['n_samples']:,} compositions measured on {about['n_users']:,} users"
    spearman = about["two_fold"]["spearman"]
    return Stage("estimate", f"{what}; rank correlation {spearman:.3f} on those held out", seconds)


def _plain(settings: Any) -> dict[str, Any]:
    """The fields of a config as JSON gives them back."""
    return _plain_dict(asdict(settings))


def _plain_dict(fields: dict[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json.dumps(fields))
    return plain
