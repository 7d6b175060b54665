"""Grouping a trained model: items are put in groups and renumbered once, so groups are ranges."""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass, fields

import numpy as np

from elasticrec.blocks.folder import ModelFolder
from elasticrec.training.table import BlockTable
from elasticrec.errors import InputError
from elasticrec.data.split import Split
from elasticrec.space.groups import (
    KINDS,
    Groups,
    cluster_groups,
    popularity_groups,
    random_groups,
)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SpaceConfig:
    """What compositions are made of; the defaults are ours, `printed` gives the paper's."""

    kind: str = "popularity"
    """How items are grouped: `random`, `popularity` or `cluster`."""
    n_groups: int = 20
    """G."""
    pca: bool = False
    """Whether `cluster` works on the first two principal components, as in the paper's figure."""
    rotate: bool = True
    """Whether trained vectors are turned so that the first blocks move scores most (if aligned)."""
    free: bool = False
    """Whether a group keeps any subset of blocks (the paper) or one row of a menu (ours)."""
    as_printed: bool = False
    """Whether Alg. 1 leaves bytes unspent, as printed; only with `free`."""
    seed: int = 0
    """Decides random groups and the first centres of clusters."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"groups of kind {self.kind!r}, expected one of {', '.join(KINDS)}")
        if self.n_groups < 1:
            raise InputError(f"{self.n_groups} groups, expected at least one")
        if self.pca and self.kind != "cluster":
            raise InputError(f"pca is for groups of kind 'cluster', not {self.kind!r}")
        if self.as_printed and not self.free:
            raise InputError("as_printed is for free blocks; rows of a menu are always topped up")

    @classmethod
    def printed(cls, seed: int = 0) -> SpaceConfig:
        """The paper's space: random groups, free blocks, Alg. 1 without top-up."""
        return cls(kind="random", rotate=False, free=True, as_printed=True, seed=seed)


@dataclass(frozen=True, eq=False)
class Regrouped:
    """A model whose items are numbered by group: group g is a range of items."""

    split: Split
    table: BlockTable
    groups: Groups


def make_groups(split: Split, table: BlockTable, config: SpaceConfig) -> Groups:
    """Groups of a model's items; popularity is how often an item occurs in train."""
    popularity, rng = split.train.per_item, np.random.default_rng(config.seed)
    if config.kind == "random":
        return random_groups(popularity, config.n_groups, rng)
    if config.kind == "popularity":
        return popularity_groups(popularity, config.n_groups)
    return cluster_groups(table.items, popularity, config.n_groups, rng, pca=config.pca)


def regroup(split: Split, table: BlockTable, config: SpaceConfig) -> Regrouped:
    """The same model with its items grouped, and renumbered by group."""
    groups = make_groups(split, table, config)
    return Regrouped(split.renumbered(groups.order), table.renumbered(groups.order), groups)


def regroup_folder(folder: ModelFolder, config: SpaceConfig) -> Regrouped:
    """A model folder's parts after they were grouped, renumbered and written back.

    A folder that has these very groups is left as it is; other groups replace the old ones, and
    what was made from the old numbering is refused from then on.
    """
    wanted = asdict(config)
    if folder.has("groups") and folder.about.get("space") == wanted:
        return Regrouped(folder.split(), folder.table(), load_groups(folder))
    done = regroup(folder.split(), folder.table(), config)
    lists = folder.cooccurrence()
    renumbered = None if lists is None else lists.renumbered(done.groups.order)
    folder.save_model(done.split, done.table, renumbered)
    done.groups.save(folder.path("groups"))
    folder.record("groups", done.groups.fingerprint(), ("split", "table"))
    folder.describe(space=wanted)
    log.info("%d %s groups of %d items", config.n_groups, config.kind, done.groups.n_items)
    return done


def load_groups(folder: ModelFolder) -> Groups:
    """The groups of a model folder; those of another table are refused."""
    if not folder.has("groups"):
        raise InputError(f"{folder.root} has no groups; `elasticrec train` makes them")
    folder.check("groups")
    groups = Groups.load(folder.path("groups"))
    if groups.fingerprint() != folder.fingerprint("groups"):
        raise InputError(f"{folder.path('groups')} is not the file that model.json was written for")
    return groups


def space_of(folder: ModelFolder) -> SpaceConfig:
    """The settings by which a folder's model was grouped; defaults where none were kept."""
    kept = folder.about.get("space", {})
    known = {each.name for each in fields(SpaceConfig)}
    return SpaceConfig(**{name: value for name, value in kept.items() if name in known})
