"""Story: all that a report shows, as plain numbers and texts that go to JSON and come back.

What was measured is kept apart from how it is drawn, so that a page can be drawn anew at any time.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from elasticrec.errors import InputError
from elasticrec.files import written_whole

FORMAT = "elasticrec story 1"
"""What the first field of a saved story says."""


@dataclass(frozen=True)
class Measured:
    """One way to fill a budget, and what it is worth on the test part."""

    method: str
    """`searched`, a control's name, or `full`."""
    n_bytes: int
    """What it costs."""
    n_blocks: int
    """How many blocks the groups keep, all together."""
    metrics: dict[str, float]
    """Mean over all users with test items, by name."""
    coverage: float
    """Share of all items that stand in some user's list."""
    estimate: float | None = None
    """What the estimator said of it, on validation; None for the full model."""
    seconds: float = 0.0
    """How long the method took to find it."""


@dataclass(frozen=True)
class Listed:
    """One recommended item."""

    title: str
    """Its title, or its id where it has none."""
    wanted: bool
    """Whether the person took it: it is in the test part, which no stage has read."""


@dataclass(frozen=True)
class Fit:
    """What one budget holds."""

    budget: str
    """As a person writes it, such as `1 MB`."""
    ways: tuple[Measured, ...]
    """The search first, then the controls."""
    depths: tuple[tuple[int, ...], ...]
    """(G, N) depths of the searched composition, blocks by falling energy."""
    listed: tuple[Listed, ...]
    """What the searched composition recommends to the person."""
    neighbours: tuple[int, ...] = ()
    """(G,) neighbours per item in the searched composition; empty where there are none."""

    @property
    def searched(self) -> Measured:
        """The search's own way."""
        return self.ways[0]


@dataclass(frozen=True)
class Person:
    """For whom the lists are."""

    id: int | str
    """Her original id."""
    known: tuple[str, ...]
    """Titles of what she took in train and validation."""
    n_wanted: int
    """How many items of hers are in the test part."""
    named: bool = False
    """Whether she was asked for; else she was chosen because her full list finds hidden items."""


@dataclass(frozen=True)
class Agreement:
    """How estimates agree with measurements that they were not fitted on."""

    name: str
    """Which compositions: all sizes, or one budget."""
    n: int
    """How many compositions."""
    spearman: float
    """Rank correlation."""


@dataclass(frozen=True)
class Stage:
    """One step of the way."""

    name: str
    """Such as `train`."""
    about: str
    """What was done, in one sentence."""
    seconds: float
    """How long it took when it was done."""


@dataclass(frozen=True)
class Story:
    """From interactions to lists at every budget."""

    dataset: str
    """The data set's name."""
    n_users: int
    """How many users exist."""
    n_items: int
    """How many items exist."""
    n_interactions: int
    """Pairs in all parts."""
    metric: str
    """By which compositions were estimated and are compared, such as `recall@50`."""
    group_kind: str
    """How items are grouped."""
    group_sizes: tuple[int, ...]
    """(G,) items per group."""
    full: Measured
    """The whole model."""
    full_listed: tuple[Listed, ...]
    """What the whole model recommends to the person."""
    fits: tuple[Fit, ...]
    """One per budget, ascending."""
    person: Person
    """For whom the lists are."""
    agreements: tuple[Agreement, ...]
    """How good the estimator is."""
    stages: tuple[Stage, ...]
    """What was done, in order."""
    model_id: str
    """Of the model behind it."""
    version: str
    """Of the package that told it."""

    def share(self, way: Measured) -> float:
        """How much of the whole model's quality a way keeps."""
        whole = self.full.metrics[self.metric]
        return way.metrics[self.metric] / whole if whole else 0.0

    def save(self, path: Path | str, *, key: str) -> None:
        """Write one JSON file, whole or not at all.

        Args:
            key: a hash of all that the story depends on.
        """
        content = {"format": FORMAT, "key": key, **asdict(self)}
        with written_whole(path) as file:
            file.write(json.dumps(content, ensure_ascii=False, indent=1).encode() + b"\n")

    @classmethod
    def load(cls, path: Path | str, *, key: str | None = None) -> Story:
        """The story that `save` wrote; one of another key is refused.

        Args:
            key: what the story should depend on; None takes any.
        """
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            if content["format"] != FORMAT:
                raise ValueError(content["format"])
            found = content["key"]
            story = cls._of(content)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}: cannot be used ({error}), expected {FORMAT!r}") from None
        if key is not None and found != key:
            raise InputError(f"{path}: tells of other settings ({found}, expected {key})")
        return story

    @classmethod
    def _of(cls, content: dict[str, Any]) -> Story:
        """The story behind plain lists and dicts."""
        plain = {name: value for name, value in content.items() if name not in ("format", "key")}
        fits = tuple(
            Fit(
                each["budget"],
                tuple(Measured(**way) for way in each["ways"]),
                tuple(map(tuple, each["depths"])),
                _all_listed(each["listed"]),
                tuple(each.get("neighbours", ())),
            )
            for each in content["fits"]
        )
        person = {**content["person"], "known": tuple(content["person"]["known"])}
        return cls(
            **plain
            | {
                "group_sizes": tuple(content["group_sizes"]),
                "full": Measured(**content["full"]),
                "full_listed": _all_listed(content["full_listed"]),
                "fits": fits,
                "person": Person(**person),
                "agreements": tuple(Agreement(**each) for each in content["agreements"]),
                "stages": tuple(Stage(**each) for each in content["stages"]),
            }
        )


def _all_listed(content: list[dict[str, Any]]) -> tuple[Listed, ...]:
    return tuple(Listed(**each) for each in content)


def size_text(n_bytes: int) -> str:
    """Bytes as a person reads them; a megabyte is 10^6 bytes."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if n_bytes >= size // 10:
            return f"{n_bytes / size:.2f} {unit}"
    return f"{n_bytes} B"
