"""Progress of a training: its clock, and its atomic save and resume."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from elasticrec.errors import InputError
from elasticrec.training.config import TrainConfig


@dataclass
class Progress:
    """The progress of a training: all that a resume needs besides the tensors."""

    epoch: int = 0
    """The epoch under way, from 0."""
    step: int = 0
    """Steps of it that are done."""
    steps: int = 0
    """Steps done in all."""
    best: float = -1.0
    """Best validation value so far."""
    best_epoch: int = 0
    """Epochs done at that value; the number to train on everything."""
    since_best: int = 0
    """Validations since then."""
    stopped: bool = False
    """True once early stopping has ended the training."""
    seconds: float = 0.0
    """Time spent, earlier runs included."""
    cpu_seconds: float = 0.0
    """Time that all cores worked on it, earlier runs included."""
    validations: list[dict[str, float]] = field(default_factory=list)
    """One entry per validation: epoch, loss, value, seconds, CPU seconds."""


def save_checkpoint(
    path: Path, tensors: dict[str, Tensor], progress: Progress, config: TrainConfig, split: str
) -> None:
    """Write everything to one file, whole or not at all."""
    from safetensors.torch import save_file

    about = {"progress": asdict(progress), "config": asdict(config), "split": split}
    partial = path.with_name(path.name + ".part")
    stored = {name: t.detach().cpu().contiguous() for name, t in tensors.items()}
    save_file(stored, partial, metadata={"elasticrec": json.dumps(about)})
    os.replace(partial, path)  # written whole or not at all


def load_checkpoint(
    path: Path, config: TrainConfig, split: str
) -> tuple[dict[str, Tensor], Progress]:
    """Tensors and progress of a checkpoint made with the same settings from the same split."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            about = json.loads((file.metadata() or {})["elasticrec"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, KeyError, ValueError) as error:
        raise InputError(f"{path} is not a checkpoint: {error}") from error
    if about["split"] != split:
        raise InputError(f"{path} was made from another split; --force begins anew")
    found: dict[str, Any] = about["config"]
    for name, wanted in json.loads(json.dumps(asdict(config))).items():
        if found.get(name) != wanted:
            raise InputError(
                f"{path} was made with {name}={found.get(name)!r}, expected {wanted!r}; "
                "resume with the same settings, or begin anew with --force"
            )
    return tensors, Progress(**about["progress"])


class Clock:
    """Seconds since a training began, and when something was last done."""

    def __init__(self) -> None:
        self._began, self._began_cpu = time.monotonic(), time.process_time()
        self._before = self._before_cpu = 0.0
        self._first_step, self._first_time = 0, self._began
        self._latest: dict[str, float] = {}

    def start(self, progress: Progress) -> None:
        """Begin to count steps, after those and the seconds that earlier runs took."""
        self._before, self._before_cpu = progress.seconds, progress.cpu_seconds
        self._first_step, self._first_time = progress.steps, time.monotonic()
        self._latest = {}

    def note(self, progress: Progress) -> None:
        """Write the seconds so far to the progress."""
        progress.seconds = self._before + time.monotonic() - self._began
        progress.cpu_seconds = self._before_cpu + time.process_time() - self._began_cpu

    def passed(self, what: str, seconds: float) -> bool:
        """True once so many seconds have passed since the start, or since it was last true."""
        now = time.monotonic()
        if now - self._latest.get(what, self._first_time) < seconds:
            return False
        self._latest[what] = now
        return True

    def seconds_left(self, done: int, total: int) -> float:
        """Time that the remaining steps take at the pace of this run."""
        pace = (time.monotonic() - self._first_time) / max(done - self._first_step, 1)
        return pace * (total - done)
