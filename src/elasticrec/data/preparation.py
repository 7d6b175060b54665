"""Preparation: read, filter and split a source of interactions."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from elasticrec.addresses import fetched
from elasticrec.data.interactions import Interactions, keep_frequent
from elasticrec.data.readers.columns import Columns
from elasticrec.data.readers.lists import read_lists
from elasticrec.data.readers.sources import format_of, over_same_ids, read, with_titles
from elasticrec.data.split import Split
from elasticrec.data.splitting import (
    SEQUENCE,
    Fractions,
    SequenceConfig,
    informative_order,
    last_split,
    published_split,
    random_split,
    temporal_split,
)
from elasticrec.errors import InputError
from elasticrec.files import check_readable, only_member
from elasticrec.progress import stage
from elasticrec.settings import Count, Seed, Settings, Share

log = logging.getLogger(__name__)


@dataclass(frozen=True, repr=False)
class PrepareConfig(Settings):
    """Every setting between a source and its split."""

    format: str | None = None
    """One of `FORMATS` of the readers; None: by the source's name."""
    columns: Columns = field(default_factory=Columns)
    """The columns of a table to read, and the smallest rating that counts."""
    test: Path | None = None
    """The published test part; the source is then the published train part."""
    split: Literal["temporal", "last", "random"] | None = None
    """None: temporal where there are times (or last, by `least_known`); last where
    a recorded order is informative; else random."""
    fractions: Fractions = (0.7, 0.1, 0.2)
    """Shares of train, validation and test where the split is not published; the paper's."""
    validation: Literal["last", "random"] | None = None
    """Published: `last` or `random` items of train; None: last where an order is known."""
    min_interactions: Count | None = None
    """Smallest number per user and per item; None: the first of `limits` that keeps enough, or no
    filter at all if published."""
    limits: tuple[Count, ...] = (10, 5, 2)
    """Smallest numbers to try, else the last; the first is the paper's."""
    least_kept: Share = 0.5
    """Share of the interactions that is enough to keep."""
    titles: Any = None
    """A file or a frame with ids and titles of items, see `with_titles`."""
    title: str | None = None
    """Its column of the titles; None: by its usual names."""
    sequence: SequenceConfig = SEQUENCE
    """When a recorded order counts as one."""
    least_known: Share = 0.5
    """Share of the interactions behind a cut in time that must belong to users with train items;
    with less, a split that was not asked for is `last`, not `temporal`."""
    name: str | None = None
    """Name of the data set in results; None: from the source's name."""
    seed: Seed = 0
    """Seed of every random choice."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.titles, str | Path | None) and not hasattr(self.titles, "columns"):
            raise InputError(f"titles is {self.titles!r:.50}, expected a path or a frame")
        if self.test is not None and (self.split or self.min_interactions):
            raise InputError(
                "a published test comes with its split, expected neither split nor min-interactions"
            )
        if self.test is None and self.validation:
            raise InputError(f"validation {self.validation} with no test file, expected one")


def prepare(source: Any, config: PrepareConfig | None = None) -> Split:
    """The split of a source, as configured; each step and its effect is logged.

    Args:
        source: a file, folder, pattern or address, `goodbooks`, Interactions, a pandas or polars
            frame, or a scipy sparse matrix; a Split, or the file of one, which gets titles alone.
    """
    config = config or PrepareConfig()
    if isinstance(config.titles, str | Path):
        check_readable(only_member(config.titles))  # before all the work
    if isinstance(source, str | Path) and Path(source).suffix == ".npz":
        with fetched(source) as path:
            source = Split.load(path)
    if isinstance(source, Split):
        if replace(config, seed=0, titles=None, title=None) != PrepareConfig():
            raise InputError(
                f"{source.name}: is a prepared split, used as it is; expected no option by which "
                "interactions are read, filtered or split"
            )
        split = source
    else:
        rng = np.random.default_rng(config.seed)
        split = (_published if config.test else _filtered)(source, config, rng)
        log.info("%s: the split is %s", split.name, split.kind)
    return split if config.titles is None else with_titles(split, config.titles, title=config.title)


def _filtered(source: Any, config: PrepareConfig, rng: np.random.Generator) -> Split:
    """The split of a source, without rare users and items."""
    whole = _read(source, config)
    # Until it is split its name is the source, for messages that say which file is meant.
    named = str(source) if isinstance(source, str | Path) else whole.name
    with stage(f"filtering {len(whole.pairs):,} interactions"):
        least = config.min_interactions
        limits = config.limits if least is None else (least,)
        frequent = keep_frequent(replace(whole, name=named), limits, least_kept=config.least_kept)
    with stage(f"splitting {len(frequent.pairs):,} interactions"):
        return replace(_split(frequent, config, rng), name=whole.name)


def _published(source: Any, config: PrepareConfig, rng: np.random.Generator) -> Split:
    """The published split, with a part of train as validation."""
    assert config.test is not None
    if isinstance(source, str | Path) and (config.format or format_of(source)) == "lists":
        paths = [source, config.test]
        with stage(f"reading {source} and {config.test}"):
            train, test = read_lists(paths, name=config.name)
    else:
        train, test = over_same_ids(_read(source, config), _read(config.test, config))
    with stage(f"splitting {len(train.pairs):,} train interactions"):
        train = _in_sequence(train, config, trusted=config.validation == "last")
        best = "random" if train.pairs.order is None else "last"
        last = (config.validation or best) == "last"
        return published_split(train, test, rng=rng, last=last)


def _split(whole: Interactions, config: PrepareConfig, rng: np.random.Generator) -> Split:
    """The split of the kind asked for, or of the kind that suits the interactions."""
    if config.split == "temporal":
        return temporal_split(whole, config.fractions)
    if config.split is None and whole.times is not None:
        return _informative_cut(whole, config) or last_split(whole, config.fractions)
    whole = _in_sequence(whole, config, trusted=config.split == "last")
    if config.split == "last" or (config.split is None and whole.pairs.order is not None):
        return last_split(whole, config.fractions)
    return random_split(whole, config.fractions, rng=rng)


def _informative_cut(whole: Interactions, config: PrepareConfig) -> Split | None:
    """The split by one cut in time; None where it says little, for a reason that is logged."""
    try:
        split = temporal_split(whole, config.fractions)
    except InputError as error:
        log.info("%s; so the split is by each user's last items", error)
        return None
    later = split.validation.per_user + split.test.per_user
    known = later[split.train.per_user > 0].sum() / max(later.sum(), 1)
    if known >= config.least_known:
        return split
    log.info(
        "%s: %.0f %% of the interactions behind a cut in time belong to users with earlier ones, "
        "expected %.0f %%; so the split is by each user's last items",
        whole.name, 100 * known, 100 * config.least_known,
    )  # fmt: skip
    return None


def _in_sequence(whole: Interactions, config: PrepareConfig, *, trusted: bool) -> Interactions:
    """The interactions without a recorded order that says nothing; times are always an order."""
    if trusted or whole.times is not None:
        return whole
    return replace(whole, pairs=informative_order(whole.pairs, whole.name, config.sequence))


def _read(source: Any, config: PrepareConfig) -> Interactions:
    """The interactions of one file, frame or matrix, as configured."""
    columns = config.columns
    if config.split == "random":
        columns = replace(columns, find_time=False)
    if isinstance(source, Interactions):
        return source if config.name is None else replace(source, name=config.name)
    if isinstance(source, str | Path):
        with stage(f"reading {source}"):
            return read(source, columns, format=config.format, name=config.name)
    from elasticrec.data.readers.frames import from_csr, from_frame

    name = config.name or "data"
    if hasattr(source, "tocoo"):
        return from_csr(source, columns, name=name)
    if hasattr(source, "columns"):
        return from_frame(source, columns, name=name)
    raise InputError(
        f"{name}: is of type {type(source).__name__}, expected a path, Interactions, a Split, a "
        "pandas or polars frame, or a scipy sparse matrix"
    )
