"""From a trained model to what its bundles are made of: menu, codes, neighbours, mixing weights."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from elasticrec.blocks.folder import ModelFolder
from elasticrec.coding.codes import Codes
from elasticrec.coding.gains import Gain
from elasticrec.coding.mixing import Mixing
from elasticrec.coding.neighbours import Neighbours
from elasticrec.coding.signs import BLOCK
from elasticrec.data.errors import InputError
from elasticrec.space.composition import Menu
from elasticrec.space.regroup import load_groups

if TYPE_CHECKING:
    from elasticrec.blocks.table import BlockTable
    from elasticrec.data.interactions import Pairs
    from elasticrec.data.split import Split
    from elasticrec.evaluation.coded import CodedModel
    from elasticrec.evaluation.mixing import MixingConfig

log = logging.getLogger(__name__)

PARTS = ("menu", "codes", "neighbours", "mixing")
"""What a coded model has beside split, table and groups, in the order they are made."""
SOURCES = ("cooccurrence", "linear", "linear-plain")
"""Where neighbours may come from."""
SOURCE_USERS = 2_000
"""Validation users, at most, on whom sources are compared: they differ by more than weights do."""
Tell = Callable[[str], None]
"""Called with the name of a part that is about to be made."""


@dataclass(frozen=True)
class StoringConfig:
    """How a model's items are stored."""

    gain: Gain = "norm"
    """How row gains are made: `norm` or `projection`."""
    neighbours: str = "best"
    """Where neighbours come from: one of `SOURCES`, or the one `best` on validation."""
    n_users: int = 5_000
    """Validation users on whom mixing weights are fitted."""
    metric: str = "recall@50"
    """What mixing weights shall make highest."""
    even: float | None = None
    """The share of weight spread evenly over groups of items; None: what suits the split."""
    seed: int = 0
    """Decides the rotations inside blocks and the validation users."""

    def __post_init__(self) -> None:
        from elasticrec.evaluation.metrics import parse_metric

        parse_metric(self.metric)
        if self.gain not in ("norm", "projection"):
            raise InputError(f"gains of kind {self.gain!r}, expected norm or projection")
        if self.neighbours not in (*SOURCES, "best"):
            known = ", ".join((*SOURCES, "best"))
            raise InputError(f"neighbours by {self.neighbours!r}, expected one of {known}")
        if self.seed < 0 or self.n_users < 1:
            raise InputError(
                f"seed {self.seed} and {self.n_users} users, expected at least 0 and 1"
            )


def can_be_stored(table: BlockTable) -> bool:
    """Whether a table can be coded: rotations leave aligned scores alone, and planes are bytes."""
    return table.score == "aligned" and table.block_size == BLOCK


def is_stored(folder: ModelFolder) -> bool:
    """Whether a folder has all that bundles are made of, none of it stale."""
    return all(_fresh(folder, part) for part in PARTS)


def load_coded(folder: ModelFolder) -> CodedModel:
    """What a folder's model ranks with once it is coded; a missing or stale part is refused."""
    from elasticrec.evaluation.coded import CodedModel

    table = folder.table()
    return CodedModel(
        folder.load_part("codes", Codes.load),
        folder.load_part("neighbours", Neighbours.load),
        folder.load_part("menu", Menu.load),
        folder.load_part("mixing", Mixing.load),
        table.users,
        table.fold_map,
    )


def store(
    folder: ModelFolder,
    config: StoringConfig | None = None,
    *,
    device: str = "auto",
    tell: Tell = lambda _: None,
    mixing: Mixing | None = None,
) -> bool:
    """Whether anything was made: the folder has menu, codes, neighbours and mixing weights then.

    Parts made with these settings from what the folder holds now are left as they are, so a run
    that was cut off goes on where it stopped.

    Args:
        mixing: weights that were chosen elsewhere; None fits them on the folder's validation.
    """
    config = config or StoringConfig()
    table = folder.table()
    if not can_be_stored(table):
        raise InputError(
            f"{folder.root}: {table.score} scores of blocks of {table.block_size} cannot be coded; "
            f"expected aligned scores and blocks of {BLOCK}"
        )
    if folder.about.get("storing") != asdict(config):
        folder.describe(storing=asdict(config))
        made: set[str] = set()
    else:
        made = {part for part in PARTS if _fresh(folder, part)}
    if made.issuperset(PARTS):
        return False
    makers: dict[str, Callable[[], Any]] = {
        "menu": lambda: menu_of(table),
        "codes": lambda: _codes(folder, table, config),
        "neighbours": lambda: _neighbours(folder, config, device),
        "mixing": lambda: mixing or _mixing(folder, config, device),
    }
    for part in PARTS:
        if part in made and _fresh(folder, part):
            continue
        tell(part)
        folder.save_part(part, makers[part]())
        log.info("%s: made the %s", folder.root, part)
    return True


def _fresh(folder: ModelFolder, part: str) -> bool:
    """Whether a part is there and was made from what the folder holds now."""
    if not folder.has(part) or not folder.path(part).exists():
        return False
    try:
        folder.check(part)
    except InputError:
        return False
    return True


def menu_of(table: BlockTable) -> Menu:
    """The default menu of a table: blocks in the order of energy that coding gives them."""
    from elasticrec.coding.neighbours import longest_list
    from elasticrec.coding.rotation import energy_rotation, rotated
    from elasticrec.coding.words import word_lists
    from elasticrec.space.energy import block_energy
    from elasticrec.space.menu import default_menu

    energy = block_energy(rotated(table, energy_rotation(table)))
    return default_menu(
        energy,
        n_lists=word_lists(table.n_items, table.n_blocks),
        most_neighbours=longest_list(table.n_items),
    )


def _codes(folder: ModelFolder, table: BlockTable, config: StoringConfig) -> Codes:
    from elasticrec.coding.planes import encode

    menu = folder.load_part("menu", Menu.load)
    rng = np.random.default_rng(config.seed)
    return encode(table, load_groups(folder).bounds, menu.depths, rng=rng, gain=config.gain)


def _neighbours(folder: ModelFolder, config: StoringConfig, device: str) -> Neighbours:
    """The neighbours of one source, or of the source that ranks validation best."""
    split = folder.split()
    if config.neighbours != "best":
        return make_neighbours(config.neighbours, split.train)
    from elasticrec.evaluation.mixing import votes_quality

    found: dict[str, tuple[float, Neighbours]] = {}
    for source, lists in all_neighbours(split.train):
        model = _unmixed(folder, lists)
        fitting = _fitting(replace(config, n_users=min(SOURCE_USERS, config.n_users)), split)
        found[source] = votes_quality(model, split, fitting, device=device), lists
        log.info("%s neighbours: %s %.5f", source, config.metric, found[source][0])
    best = max(SOURCES, key=lambda source: found[source][0])
    folder.describe(neighbours={source: round(found[source][0], 6) for source in SOURCES})
    return found[best][1]


def neighbour_source(folder: ModelFolder) -> str:
    """Where a stored model's neighbours come from: one of `SOURCES`."""
    chosen = str(folder.about["storing"]["neighbours"])
    quality: dict[str, float] = folder.about.get("neighbours", {})
    return max(SOURCES, key=quality.__getitem__) if chosen == "best" else chosen


def make_neighbours(source: str, train: Pairs) -> Neighbours:
    """The neighbours of one source."""
    from elasticrec.coding.linear import PLAIN
    from elasticrec.coding.neighbours import cooccurrence_neighbours, linear_neighbours

    if source == "cooccurrence":
        return cooccurrence_neighbours(train)
    return linear_neighbours(train, config=PLAIN if source == "linear-plain" else None)


def all_neighbours(train: Pairs) -> Iterator[tuple[str, Neighbours]]:
    """The neighbours of every source, in the order of `SOURCES`."""
    from elasticrec.coding.neighbours import both_linear

    yield "cooccurrence", make_neighbours("cooccurrence", train)
    yield from zip(SOURCES[1:], both_linear(train), strict=True)


def _mixing(folder: ModelFolder, config: StoringConfig, device: str) -> Mixing:
    """The mixing weights of a folder's rows."""
    from elasticrec.evaluation.mixing import fit_mixing

    model, split = _unmixed(folder, folder.load_part("neighbours", Neighbours.load)), folder.split()
    return fit_mixing(model, split, _fitting(config, split), device=device).mixing


def _fitting(config: StoringConfig, split: Split) -> MixingConfig:
    from elasticrec.evaluation.metrics import SUMS, parse_metric
    from elasticrec.evaluation.mixing import MixingConfig
    from elasticrec.evaluation.questions import even_share

    even = even_share(split) if config.even is None else config.even
    if parse_metric(config.metric).name not in SUMS:
        even = 0.0  # it cannot be weighted
    return MixingConfig(config.n_users, config.metric, even=even, seed=config.seed)


def _unmixed(folder: ModelFolder, neighbours: Neighbours) -> CodedModel:
    """A folder's coded model without mixing weights yet."""
    from elasticrec.evaluation.coded import CodedModel

    table, menu = folder.table(), folder.load_part("menu", Menu.load)
    nothing = Mixing(np.zeros((menu.n_rows, 2)), by_root=True)
    codes = folder.load_part("codes", Codes.load)
    return CodedModel(codes, neighbours, menu, nothing, table.users, table.fold_map)
