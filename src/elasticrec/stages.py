"""The stages of the pipeline: each makes parts of a model from others, unless they are fresh."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np

from elasticrec.compression.codes import Codes
from elasticrec.compression.compress import coarse, finish
from elasticrec.compression.neighbours import make_neighbours
from elasticrec.data.split import Split
from elasticrec.data.splitting import by_popularity
from elasticrec.errors import InputError
from elasticrec.evaluation.baselines import BASELINES
from elasticrec.evaluation.choosing import Choice
from elasticrec.files import save_bytes, written_whole
from elasticrec.model import Model
from elasticrec.model_folder import plain
from elasticrec.ordering.search import find_order
from elasticrec.presets import Preset
from elasticrec.training.table import BlockTable

if TYPE_CHECKING:
    from elasticrec.training.config import TrainConfig
    from elasticrec.training.loop import Step

log = logging.getLogger(__name__)

Report = Callable[[str, str], None]
"""Told the stage and, in a few words, what it does."""
Callback = Callable[[str, int, dict[str, float]], None]
"""Told numbers for a tracker: the stage, the step (of `measure`: bytes), and values by name."""


CHECKPOINT = "checkpoint.safetensors"
"""The file of a training that was cut off."""
ORDERED_BY = ("split", "codes", "neighbours")
"""Parts that vote weights and the order are made from."""


def to_log(stage: str, text: str) -> None:
    """The report where none is asked for."""
    log.info("%s: %s", stage, text)


@dataclass(frozen=True)
class Stages:
    """The stages that make one model, where they run, and who is told."""

    model: Model
    device: str = "auto"
    report: Report = to_log
    stop: Callable[[], bool] = lambda: False
    """Asked while training; a training that stops is taken up again by the same call."""
    force: bool = False
    """Replace a model of other data, and a checkpoint of other settings."""
    callbacks: Sequence[Callback] = ()

    def prepare(self, split: Split, preset: Preset) -> None:
        """Save the split, its items numbered by falling popularity in train."""
        model, config = self.model, {"split": split.fingerprint()}
        if model.fresh("split", config):
            return
        if model.has("split"):
            refitted = model.about.get("refit", {}).get("split")
            if not self.force and refitted != config["split"]:
                raise InputError(
                    "the folder holds a model of other data; give another folder, or --force"
                )
            model.clear()
            (model.root / CHECKPOINT).unlink(missing_ok=True)
        self.report(
            "prepare", f"{split.n_users:,} users, {split.n_items:,} items, {split.kind} split"
        )
        renumbered, _ = by_popularity(split)
        model.save_part("split", renumbered, config=config)
        model.describe(name=split.name, kind=split.kind, preset=preset.as_dict())

    def tuned(self, preset: Preset, minutes: float) -> Preset:
        """The preset with the training settings that trials found; they are kept in the folder."""
        model = self.model
        asked = {"preset": plain(preset.as_dict()), "minutes": minutes}
        if model.about.get("tuned", {}).get("asked") != asked:
            from elasticrec.tuning import tune

            with self._timed("tune", f"other training settings, {minutes:g} minutes in all"):
                found = tune(
                    model.split, preset.train, preset.tuning, seconds=60 * minutes,
                    later=preset.tuning.rest_of_fit, device=self.device,
                )  # fmt: skip
                self._record([found.choice])
                model.describe(tuned={"asked": asked, "settings": found.settings})
        settings = model.about["tuned"]["settings"]
        return replace(preset, train=replace(preset.train, **settings))

    def train(self, preset: Preset) -> None:
        """Train the table; a checkpoint beside the parts lets a run that was cut off go on.

        A checkpoint of other settings is refused, unless `force` says to begin anew.
        """
        from elasticrec.training.loop import train as train_table
        from elasticrec.training.state import load_checkpoint

        model, config = self.model, asdict(preset.train)
        if model.fresh("table", config):
            return
        settings = self._tempered(preset.train)
        checkpoint, sized = model.root / CHECKPOINT, settings.sized(model.split.train)
        if self.force and checkpoint.exists():
            try:
                load_checkpoint(checkpoint, sized, model.split.fingerprint())
            except InputError:
                checkpoint.unlink()

        said: list[str] = []

        def on_step(step: Step) -> None:
            log.info("%s", step)
            if not said:
                whole = math.ceil((1 + preset.tuning.rest_of_fit) * step.seconds_left / 60)
                refit = "refit" in model.about
                said.append(f"{step}" if refit else f"{step}; a whole fit about {whole} min")
                self.report("train", said[0])
            self._tell("train", step.done, {"loss": step.loss})

        with self._timed("train", f"{preset.train.base}, {sized.epochs} epochs"):
            trained = train_table(
                model.split, settings, device=self.device, checkpoint=checkpoint, resume=True,
                stop=self.stop, report=on_step,
            )  # fmt: skip
            model.save_part("table", trained.table, made_from=("split",), config=config)
        for each in trained.progress.validations:
            values = {"loss": each["loss"], preset.train.metric: each["value"]}
            self._tell("validation", int(each["epoch"]), values)
        model.describe(
            trained=datetime.now(UTC).date().isoformat(), epochs=trained.progress.epoch,
            best_epoch=trained.progress.best_epoch, preset=preset.as_dict(),
        )  # fmt: skip
        if len(model.split.validation):
            model.describe(validation={preset.train.metric: trained.progress.best})
        self._record(trained.choices)
        checkpoint.unlink(missing_ok=True)

    def _tempered(self, config: TrainConfig) -> TrainConfig:
        """The settings with the temperature that short trainings chose; the folder keeps it."""
        from elasticrec.training.loop import choose_temperature

        model = self.model
        of = plain({"split": model.hash_of("split"), "config": asdict(config)})
        if model.about.get("temperature", {}).get("of") != of:
            chosen = config.temperature
            if config.temperatures and config.loss == "softmax" and len(model.split.validation):
                with self._timed("temperature", "short trainings choose the temperature"):
                    choice = choose_temperature(
                        model.split, config, device=self.device, stop=self.stop
                    )
                self._record([choice])
                chosen = float(choice.chosen)
            model.describe(temperature={"of": of, "chosen": chosen})
        chosen = model.about["temperature"]["chosen"]
        return replace(config, temperature=chosen, temperatures=())

    def compress(self, preset: Preset) -> None:
        """List the items' neighbours and code the items."""
        model, config = self.model, asdict(preset.compression)
        if not model.fresh("neighbours", config):
            with self._timed("neighbours", "neighbour lists"):
                lists = make_neighbours(model.split.train, preset.compression)
                model.save_part("neighbours", lists, made_from=("split",), config=config)
        if not model.fresh("codes", config):
            with self._timed("compress", "codes"):
                chosen = model.about.get("temperature", {}).get("chosen", preset.train.temperature)
                tempered = replace(preset, train=replace(preset.train, temperature=chosen))
                codes = code_items(
                    model.table, model.split, tempered, device=self.device,
                    report=lambda text: self.report("compress", text),
                )  # fmt: skip
                model.save_part("codes", codes, made_from=("table", "split"), config=config)
        model.describe(preset=preset.as_dict())

    def order(self, preset: Preset) -> None:
        """Choose vote weights and the order, on validation persons."""
        model, config = self.model, asdict(preset.order)
        if model.fresh("order", config) and model.fresh("weights", config):
            return
        with self._timed("order", "vote weights and the order of the stream"):
            found = find_order(
                model.codes, model.neighbours, model.split, preset.order,
                least=min(preset.compression.fewest_residual, model.codes.n_columns),
                vectors=model.server_vectors(), device=self.device,
                report=lambda text: self.report("order", text),
            )  # fmt: skip
            save = partial(_save_weights, found.weights)
            model.save_part("weights", save, made_from=ORDERED_BY, config=config)
            model.save_part("order", found.order, made_from=ORDERED_BY, config=config)
        model.describe(order=asdict(found.config), preset=preset.as_dict())
        self._record(found.choices)

    def write(self) -> None:
        """Write the catalogue and the stream, with dense ids."""
        model = self.model
        sources = ("codes", "neighbours", "weights", "order")
        if model.fresh("stream", {}) and model.fresh("catalogue", {}):
            return
        from elasticrec.stream.side_files import catalogue
        from elasticrec.stream.writer import write_stream_of

        with self._timed("write", "the stream"):
            split = model.split
            save = partial(save_bytes, content=catalogue(split.item_ids, split.titles, model.id))
            model.save_part("catalogue", save, made_from=sources[:2])
            number = max(_serial(model.about["trained"]), model.about.get("sequence", 0) + 1)
            write = partial(write_stream_of, model, sequence=number)
            model.save_part("stream", write, made_from=sources, sequence=number)

    def measure(self, preset: Preset) -> None:
        """Measure prefixes of the stream on validation persons, others than chose if possible."""
        from elasticrec.stream.curve import curve_of

        model, order = self.model, preset.order
        settings = {"metric": order.metric, "chose": order.n_persons, "seed": order.seed}
        settings["fewest_chose"] = order.fewest_persons
        settings |= {**asdict(preset.curve), "beside": [*BASELINES], "refit": preset.refit}
        if model.fresh("curve", settings):
            return
        with self._timed("measure", "the curve of quality by size"):
            found = curve_of(model, preset.curve, order, device=self.device, report=self.report)
            if preset.refit:
                found["measured"] = "before the refit"
            save = partial(save_bytes, content=(json.dumps(found, indent=1) + "\n").encode())
            model.save_part("curve", save, made_from=("stream", "split"), config=settings)
        for point in found["points"]:
            self._tell("measure", point["bytes"], {n: v for n, v in point.items() if "@" in n})

    def describe(self) -> None:
        """Write the model card."""
        from elasticrec.card import save_card

        model = self.model
        sources = ("split", "table", "curve") if model.has("curve") else ("split", "table")
        if not model.fresh("card", {}):
            model.save_part("card", partial(save_card, model), made_from=sources, config={})

    def _record(self, choices: list[Choice]) -> None:
        """Keep choices beside those of other stages, and report them."""
        model = self.model
        own = {choice.name for choice in choices}
        others = [each for each in model.about.get("choices", []) if each["name"] not in own]
        model.describe(choices=[*others, *(choice.as_dict() for choice in choices)])
        for choice in choices:
            self.report("choice", str(choice))

    def _tell(self, stage: str, step: int, values: dict[str, float]) -> None:
        for callback in self.callbacks:
            callback(stage, step, values)

    @contextmanager
    def _timed(self, stage: str, text: str) -> Iterator[None]:
        """Report the start of a stage, and keep how long it took."""
        model = self.model
        self.report(stage, text)
        began = monotonic()
        yield
        seconds = round(monotonic() - began, 1)
        model.describe(seconds={**model.about.get("seconds", {}), stage: seconds})
        self.report(stage, f"done in {seconds:.0f} s")


def _serial(day: str) -> int:
    """The first sequence number of a day, as zone files of DNS count: 2026-05-19 is 2026051901."""
    return 100 * int(day.replace("-", "")) + 1


def _save_weights(weights: np.ndarray, path: Path) -> None:
    with written_whole(path) as file:
        np.savez(file, weights=weights)


def code_items(
    table: BlockTable,
    split: Split,
    preset: Preset,
    *,
    device: str = "auto",
    report: Callable[[str], None] = lambda _: None,
) -> Codes:
    """The codes of a table; where users are sums of items, first columns are trained to rank."""
    config = preset.compression
    found = coarse(table.items, config, users=table.users, cosine=table.cosine, report=report)
    if table.users is None and table.cosine and config.ranking_epochs and found.columns:
        from elasticrec.compression.ranking import trained_to_rank

        report("first columns trained to rank")
        found = trained_to_rank(found, split, config, preset.train, device=device)
    return finish(
        found, config, popularity=split.train.per_item, exponent=table.popularity_exponent,
        recency=table.recency, report=report,
    )  # fmt: skip
