"""The pipeline: train, compress, order, write, measure, refit. What makes a model calls it.

Each stage leaves parts in the model's folder, with the settings and the hashes of what they were
made from. A stage whose parts are fresh is skipped, so a run that was cut off goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from elasticrec.changing import changed
from elasticrec.data.split import Split
from elasticrec.data.splitting import by_popularity
from elasticrec.model import Model
from elasticrec.model_folder import plain
from elasticrec.presets import Preset
from elasticrec.stages import ORDERED_BY, Callback, Report, Stages, to_log


def fit(
    split: Split,
    root: Path | str,
    preset: Preset,
    *,
    device: str = "auto",
    report: Report = to_log,
    stop: Callable[[], bool] = lambda: False,
    force: bool = False,
    minutes: float | None = None,
    callbacks: Sequence[Callback] = (),
) -> Model:
    """The finished model of a split: every stage that is not fresh runs.

    A finished model in the folder is replaced at once, once the new one is finished: so is the
    measured model by the refitted one.

    Args:
        root: the model's folder, new, empty, of a run that was cut off, or of a finished model.
        stop: asked while training; a run that stops is taken up again by the same call.
        force: replace a model of other data, and a checkpoint of other settings.
        minutes: spend about so many in all, on trials of other training settings first.
    """
    wanted = {
        "split": split.fingerprint(), "preset": plain(preset.as_dict()), "minutes": minutes
    }  # fmt: skip
    with changed(root) as model:
        if model.about.get("refit") != wanted:
            stages = Stages(model, device, report, stop, force, callbacks)
            stages.prepare(split, preset)
            if minutes is not None:
                preset = stages.tuned(preset, minutes)
            stages.train(preset)
            if model.table.score == "tiled":
                report("compress", "skipped: tiled scores (Eq. 2 as printed) have no stream")
                stages.describe()
                return model
            stages.compress(preset)
            stages.order(preset)
            stages.write()
            stages.measure(preset)
            stages.describe()
    if preset.refit:
        with changed(root) as model:
            refit(Stages(model, device, report, stop), split, wanted)
    return model


def refit(stages: Stages, split: Split, wanted: dict[str, Any]) -> None:
    """Train a measured model anew on train and validation; every choice stays, and the curve.

    Args:
        split: what the measured model was fitted to.
        wanted: what was asked for; a refit that was cut off goes on if it is the same.
    """
    model = stages.model
    if model.about.get("refit") != wanted:
        preset = Preset.of(model.about["preset"])
        fixed = replace(
            preset,
            train=replace(
                preset.train,
                epochs=model.about["best_epoch"],
                popularity_exponent=model.table.popularity_exponent,
                recency=model.table.recency,
                temperature=model.about["temperature"]["chosen"],
                temperatures=(),
            ),
        )
        seconds = {"before the refit": round(sum(model.about["seconds"].values()), 1)}
        model.describe(
            refit=wanted, settings=preset.as_dict(), fixed=fixed.as_dict(), seconds=seconds
        )
    fixed = Preset.of(model.about["fixed"])
    config = {"split": wanted["split"], "parts": "train and validation"}
    if not model.fresh("split", config):
        stages.report("refit", "train and validation together; every choice stays")
        known, _ = by_popularity(split.all_known())
        model.save_part("split", known, config=config)
    stages.train(fixed)
    stages.compress(fixed)
    for part in ("weights", "order"):
        model.keep_part(part, made_from=ORDERED_BY)
    stages.write()
    model.keep_part("curve", made_from=("stream", "split"))
    model.describe(preset=model.about["settings"])
    stages.describe()
