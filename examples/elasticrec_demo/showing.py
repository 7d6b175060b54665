"""What the demo shows: prefixes of one stream, one reader's lists of each, and RULE's files."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

import elasticrec_device
from elasticrec.errors import InputError
from elasticrec.model import Model
from elasticrec.presets import Preset
from elasticrec.rule.config import RuleConfig
from elasticrec.rule.customize import Rule
from elasticrec.rule.levels import Levels
from elasticrec.space import Budget, Composition
from elasticrec.stages import Report
from elasticrec.stream.chunk import StreamIndex, read_index
from elasticrec.stream.curve import curve_persons, evaluate_composition, prefix_composition

LONGEST_HISTORY = 40
"""The reader has at most so many items, unless she is named: her list fits a page."""


@dataclass(frozen=True)
class Listed:
    """One item of a list."""

    title: str
    hidden: bool
    """The reader took it, which neither training nor list knew."""
    new: bool
    """The list of the next smaller size lacks it."""


@dataclass(frozen=True)
class Size:
    """A prefix of the stream, what items have in it, and one reader's list."""

    path: Path
    budget: Budget
    n_bytes: int
    """Of whole chunks; a cut one at the end is ignored."""
    composition: Composition
    quality: float
    listed: list[Listed]


@dataclass(frozen=True)
class RulePoint:
    """What RULE found for a budget, measured on the same users as the stream."""

    budget: Budget
    n_bytes: int
    quality: float


@dataclass
class Shown:
    """Everything that the report draws."""

    model: Model
    reader: Any
    """Her id."""
    known: list[str] = field(default_factory=list)
    """Titles of the items that she gave, the oldest first."""
    n_hidden: int = 0
    sizes: list[Size] = field(default_factory=list)
    rule: list[RulePoint] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)


def show(
    model: Model,
    preset: Preset,
    place: Path,
    report: Report,
    *,
    sizes: list[Budget],
    reader: str | None,
    k: int,
    device: str,
) -> Shown:
    """What is to be seen of a finished model, with its prefixes written into a folder.

    Args:
        sizes: prefixes to cut; none chooses three.
        reader: a user's id; None takes the first whose list finds some of what was hidden.
    """
    began = monotonic()
    index = read_index(model.stream_path)
    budgets = sizes or spread(index)
    ends = [index.longest_prefix(budget.n_bytes) for budget in budgets]
    report("lists", f"one reader's lists from {len(budgets)} prefixes")
    cuts = [cut(model, place, budget) for budget in budgets]
    number = _number(model, reader) if reader is not None else _some_reader(model, cuts[-1], k)
    history, hidden = _items_of(model, number)
    shown = Shown(model, model.split.user_ids.of_number(number), n_hidden=len(hidden))
    shown.known = [_title(model, item) for item in history]
    before = set(range(model.split.n_items))
    for budget, end, path in zip(budgets, ends, cuts, strict=True):
        with elasticrec_device.open(path) as stream:
            items = [int(item.id) for item in stream.recommend(history, k=k)]
        listed = [Listed(_title(model, i), i in hidden, i not in before) for i in items]
        composition = prefix_composition(index, end)
        quality = _quality(model, composition, device)
        shown.sizes.append(Size(path, budget, end, composition, quality, listed))
        before = set(items)
    shown.seconds["lists"] = monotonic() - began
    report("rule", f"the paper's search for {' and '.join(map(str, budgets[:2]))}")
    searcher = Rule(model, small(preset.rule), device=device)
    assert isinstance(searcher.space, Levels)
    for budget in [each for each in budgets[:2] if each >= searcher.space.smallest]:
        made = searcher.customize(budget)
        quality = _quality(model, searcher.space.composition(made.candidate), device)
        shown.rule.append(RulePoint(budget, made.n_bytes, quality))
    shown.seconds["rule"] = monotonic() - began - shown.seconds["lists"]
    return shown


def spread(index: StreamIndex, n: int = 3) -> list[Budget]:
    """Sizes of one digit and zeros, in equal ratios, from twice the smallest to 60 % of all."""
    exact = np.geomspace(2 * index.head.least, 0.6 * index.ends[-1], n)
    rounded = [round(size, 1 - len(str(int(size)))) for size in exact.tolist()]
    kept = sorted({int(size) for size in rounded if size >= index.head.least})
    return [Budget(size) for size in kept] or [Budget(index.head.least)]


def cut(model: Model, place: Path, budget: Budget) -> Path:
    """The file of the stream's first bytes, as `head -c` writes it: the last chunk may be cut."""
    path = place / f"{str(budget).replace(' ', '')}.elastic"
    with model.stream_path.open("rb") as stream:
        path.write_bytes(stream.read(budget.n_bytes))
    return path


def small(config: RuleConfig) -> RuleConfig:
    """The same settings of RULE, with at most what half a minute allows."""
    samples, estimator, search = config.samples, config.estimator, config.search
    return replace(
        config,
        space=replace(config.space, n_groups=8, n_levels=16),
        samples=replace(samples, n_samples=min(60, samples.n_samples), n_users=500),
        estimator=replace(estimator, l2s=(1e-3,), steps=min(200, estimator.steps), max_rounds=1),
        search=replace(search, rounds=min(150, search.rounds), remeasured=2, n_users=1_000),
    )


def _quality(model: Model, composition: Composition, device: str) -> float:
    """The curve's metric on the curve's users."""
    curve = model.curve
    users = curve_persons(model.split, **curve["drawn"])
    asked = {"part": curve["part"], "users": users, "metrics": (curve["metric"],)}
    return evaluate_composition(model, composition, device=device, **asked).metrics[curve["metric"]]


def _items_of(model: Model, user: int) -> tuple[list[int], set[int]]:
    """What is known of a user, the oldest first, and what was hidden from every stage."""
    split = model.split
    known = [part.history(np.array([user]))[0] for part in (split.train, split.validation)]
    return np.concatenate(known).tolist(), set(split.test.of(user).tolist())


def _some_reader(model: Model, path: Path, k: int) -> int:
    """The first user of few items whose list names two that were hidden; else the best of some."""
    split, found = model.split, {}
    able = (split.train.per_user >= 5) & (split.train.per_user <= LONGEST_HISTORY)
    able &= split.test.per_user >= 2
    with elasticrec_device.open(path) as stream:
        for user in np.flatnonzero(able if able.any() else split.train.per_user)[:300].tolist():
            history, hidden = _items_of(model, user)
            found[user] = len(hidden & {int(item.id) for item in stream.recommend(history, k=k)})
            if found[user] >= 2:
                break
    return max(found, key=lambda user: found[user])


def _number(model: Model, reader: str) -> int:
    ids = model.split.user_ids
    number = int(ids.numbers([reader])[0])
    if number < 0:
        some = ", ".join(map(str, ids.values[:3].tolist()))
        raise InputError(f"no user {reader!r} in the data; ids look like {some}")
    return number


def _title(model: Model, item: int) -> str:
    split = model.split
    title = "" if split.titles is None else split.titles[item]
    return title or str(split.item_ids.of_number(item))
