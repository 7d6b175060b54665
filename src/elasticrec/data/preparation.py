"""From a raw source to a Split: read, filter, split."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from elasticrec.data.readers.columns import Columns
from elasticrec.errors import InputError
from elasticrec.data.filtering import MIN_INTERACTIONS, keep_frequent
from elasticrec.data.interactions import Interactions
from elasticrec.data.readers.lists import line_of_user as line_in_lists
from elasticrec.data.readers.sources import format_of, over_same_ids, read, read_published
from elasticrec.data.splitting import (
    VALIDATION_USERS,
    Split,
    published_split,
    split_by_time,
    split_by_user,
)
from elasticrec.data.readers.tables import line_of_user as line_in_table
from elasticrec.data.titles import with_titles

SPLITS = ("random", "published", "temporal")
"""How interactions may be split."""


@dataclass(frozen=True)
class PrepareConfig:
    """Everything that decides what becomes of a source."""

    format: str | None = None
    """`csv`, `tsv`, `parquet`, `lists`, `yelp` or `goodbooks`; None: by the source's name."""
    columns: Columns = field(default_factory=Columns)
    """Which columns of a table to read, and the smallest rating that counts."""
    test: Path | None = None
    """The published test part; the source is then the published train part."""
    split: str | None = None
    """`random`, `published` or `temporal`; None: published where `test` is given, else random."""
    min_interactions: int | None = None
    """Smallest number per user and per item; None: 10, or no filter at all if published."""
    validation_users: int = VALIDATION_USERS
    """Published: how many users give an eighth of their train items for validation."""
    validation_everyone: bool = False
    """Published: take that eighth from every user, as the paper does."""
    id_lists: bool = False
    """Lists: take original ids from `user_list.txt` and `item_list.txt` beside the source."""
    titles: Path | None = None
    """A table with an item and a title column."""
    name: str | None = None
    """Of the data set in results; None: from the source's name."""
    seed: int = 0
    """Fixes every random choice."""

    def __post_init__(self) -> None:
        if self.split not in (None, *SPLITS):
            raise InputError(f"split {self.split!r} is unknown, expected {', '.join(SPLITS)}")
        if (self.kind == "published") != (self.test is not None):
            found = "no test file" if self.test is None else f"test file {self.test}"
            expected = "expected one" if self.test is None else "expected none"
            raise InputError(f"split {self.kind} with {found}, {expected}")
        if self.min_interactions is not None and self.kind == "published":
            raise InputError("a published split is never filtered, expected no min-interactions")
        if self.min_interactions is not None and self.min_interactions < 1:
            raise InputError(f"min-interactions is {self.min_interactions}, expected 1 or more")
        if self.validation_users < 1:
            raise InputError(f"validation-users is {self.validation_users}, expected 1 or more")

    @property
    def kind(self) -> str:
        """How the interactions are split."""
        return self.split or ("random" if self.test is None else "published")


def prepare(
    source: Path | str,
    config: PrepareConfig | None = None,
    *,
    report: Callable[[str], None] = lambda _: None,
) -> Split:
    """The split of one source; `report` is told what is being done."""
    config = config or PrepareConfig()
    rng = np.random.default_rng(config.seed)
    report(f"reading {source}")
    if config.kind == "published":
        train, test = _read_published(source, config)
        report(f"splitting {len(train.pairs):,} train interactions")
        return published_split(
            train,
            test,
            rng=rng,
            validation_users=config.validation_users,
            everyone=config.validation_everyone,
        )
    whole = _read(source, config)
    # Until the end the name is the source, for messages that say which file is meant.
    name, whole = whole.name, replace(whole, name=str(source))
    report(f"filtering {len(whole.pairs):,} interactions")
    least = MIN_INTERACTIONS if config.min_interactions is None else config.min_interactions
    whole = keep_frequent(whole, per_user=least, per_item=least)
    if config.titles is not None:
        whole = with_titles(whole, config.titles)
    report(f"splitting {len(whole.pairs):,} interactions")
    _check_no_single(whole, source, config)
    split = split_by_time(whole) if config.kind == "temporal" else split_by_user(whole, rng=rng)
    return replace(split, name=name)


def _read(source: Path | str, config: PrepareConfig) -> Interactions:
    """The interactions of one file, as the config says."""
    return read(
        source,
        **asdict(config.columns),
        format=config.format,
        need_time=config.kind == "temporal",
        id_lists=config.id_lists,
        name=config.name,
    )


def _read_published(source: Path | str, config: PrepareConfig) -> tuple[Interactions, Interactions]:
    """The published train and test interactions, over the same users and items."""
    assert config.test is not None
    if (config.format or format_of(source)) == "lists":
        train, test = read_published(
            source, config.test, id_lists=config.id_lists, name=config.name
        )
    else:
        train, test = over_same_ids(_read(source, config), _read(config.test, config))
    if config.titles is not None:
        train = with_titles(train, config.titles)
    return train, test


def _check_no_single(whole: Interactions, source: Path | str, config: PrepareConfig) -> None:
    """Nothing, or an error naming the line of a user who has one interaction."""
    single = np.flatnonzero(whole.pairs.per_user == 1)
    if not len(single):
        return
    user: Any = whole.user_ids.of_number(int(single[0]))
    kind, line = config.format or format_of(source), None
    if kind in ("csv", "tsv"):
        line = line_in_table(Path(source), config.columns, str(user))
    elif kind == "lists" and not config.id_lists:
        line = line_in_lists(Path(source), int(user))
    where = str(source) if line is None else f"{source} line {line}"
    raise InputError(
        f"{where}: user {user!r} has 1 interaction ({len(single)} such users), expected at least "
        "2 to split (min-interactions 2 or more leaves them out)"
    )
