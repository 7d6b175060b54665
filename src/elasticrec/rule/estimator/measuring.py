"""Measuring: what an estimator of a folder learns from, with codes or in the paper's setting."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from elasticrec.data.interactions import fingerprint
from elasticrec.rule.estimator.draws import Draws, held_out_budgets
from elasticrec.evaluation.metrics import SUMS, parse_metric
from elasticrec.space.budget import PaperAccounting
from elasticrec.space.composition import Menu
from elasticrec.space.energy import energy_order
from elasticrec.space.file_bytes import FileAccounting
from elasticrec.space.regroup import SpaceConfig, load_groups, space_of
from elasticrec.storing import PARTS, load_coded

if TYPE_CHECKING:
    from elasticrec.blocks.folder import ModelFolder
    from elasticrec.training.table import BlockTable
    from elasticrec.rule.estimator.config import SamplesConfig
    from elasticrec.evaluation.coded import CodedModel
    from elasticrec.evaluation.compositions import Evaluator
    from elasticrec.evaluation.questions import Questions
    from elasticrec.space.groups import Groups

LEAST_PER_ITEM = 2
"""Bytes per item of the smallest budget near which coded compositions are drawn."""


PLANNED = 0.6
"""The share of coded compositions that are planned."""


@dataclass(frozen=True, eq=False)
class Measuring:
    """Which compositions of a folder are measured, by what, and for whom."""

    draws: Draws
    """The compositions, by number."""
    make: MakeEvaluator | MakeCodedEvaluator
    """Makes what measures them."""
    fingerprint: dict[str, Any]
    """All that a measurement depends on; the test part is not among it."""
    about: dict[str, Any]
    """`accounting` and `person`: how bytes are counted, and whom the numbers are for; and such."""
    made_from: tuple[str, ...]
    """The folder's parts on which the numbers depend."""

    @property
    def one_process(self) -> bool:
        """Whether one process measures all: the counts of a menu are made once."""
        return self.draws.menu is not None


@dataclass(frozen=True, eq=False)
class MakeEvaluator:
    """Makes evaluators of whole blocks, in any process: of a menu, or plain where there is none."""

    table: BlockTable
    """Only its items are used where `vectors` stand for the users."""
    bounds: np.ndarray
    """(G + 1,) where each group starts."""
    vectors: np.ndarray
    """(μ, D) the users' vectors."""
    asked: Questions
    """What each user has seen and should be shown."""
    menu: Menu | None
    """The rows that compositions are made of; None for free blocks."""
    metric: str
    """Such as `recall@100`."""
    width_correction: bool
    """Whether scores are divided by |B_g|, as in Eq. 2."""
    device: str = "cpu"
    """Where the plain evaluator computes."""
    threads: int = 1
    """How many threads prepare a menu's counts."""

    def __call__(self) -> Evaluator:
        """A new evaluator."""
        from elasticrec.evaluation.compositions import PlainEvaluator
        from elasticrec.evaluation.merging import MenuEvaluator
        from elasticrec.evaluation.rows import BlockScores

        scores = BlockScores(
            self.table.blocks,
            self.vectors,
            self.bounds,
            score=self.table.score,
            width_correction=self.width_correction,
            device="cpu" if self.menu is not None else self.device,
        )
        if self.menu is None:
            return PlainEvaluator(scores, self.asked, self.metric)
        return MenuEvaluator(scores, self.asked, self.menu, self.metric, threads=self.threads)


@dataclass(frozen=True, eq=False)
class MakeCodedEvaluator:
    """Makes evaluators of a coded model's menu.

    A person known by history is folded in from all planes here: what an item scores must not
    depend on other groups' rows. Reported numbers fold her in from what a composition keeps.
    """

    model: CodedModel
    """What ranks."""
    asked: Questions
    """What each user has seen and should be shown."""
    person: str
    """`vector+history` or `history`."""
    metric: str
    """Such as `recall@50`."""
    device: str = "cpu"
    """Where scores are computed."""
    threads: int = 1
    """How many threads prepare the counts."""

    def __call__(self) -> Evaluator:
        """A new evaluator."""
        from elasticrec.evaluation.device_path import device_scores
        from elasticrec.evaluation.merging import MenuEvaluator

        scores = device_scores(self.model, None, self.asked, self.person, device=self.device)
        threads = 1 if scores.device == "cuda" else self.threads
        return MenuEvaluator(scores, self.asked, self.model.menu, self.metric, threads=threads)


def measuring_of(
    folder: ModelFolder,
    samples: SamplesConfig,
    *,
    accounting: str,
    person: str | None = None,
    device: str = "cpu",
    threads: int = 1,
) -> Measuring:
    """What is measured in a folder.

    Args:
        accounting: `file` for coded models, `paper` for whole blocks.
        person: whom a coded model is measured for; by default its own kind.
    """
    from elasticrec.evaluation.compositions import validation_questions
    from elasticrec.evaluation.questions import even_share, evened

    split, groups = folder.split(), load_groups(folder)
    asked = validation_questions(split, samples.n_users, np.random.default_rng(samples.seed))
    even = even_share(split) if samples.even is None else samples.even
    if parse_metric(samples.metric).name not in SUMS or space_of(folder).as_printed:
        even = 0.0  # a hit cannot be weighted, and the paper weighs nothing
    asked = evened(asked, groups.bounds, even)
    if accounting == "paper":
        return _paper_measuring(folder, samples, asked, even, device, threads)
    coded = load_coded(folder)
    kind = person or coded.person
    charged = FileAccounting(
        groups.sizes,
        coded.codes.n_blocks,
        n_lists=coded.codes.n_lists,
        vector=kind == "vector+history",
    )
    draws = Draws(
        charged,
        groups.n_groups,
        coded.codes.n_blocks,
        coded.menu,
        printed=False,
        held_out=(),
        seed=samples.seed,
        least=charged.fixed_bytes + LEAST_PER_ITEM * groups.n_items,
        planned=PLANNED,
    )
    draws = _with_held_out(draws, samples, groups)
    make = MakeCodedEvaluator(coded, asked, kind, samples.metric, device, threads)
    depends = _fingerprint(folder, asked, draws, samples)
    depends |= {"mixing": folder.fingerprint("mixing"), "person": kind}
    depends |= {"planned": PLANNED, "even": even}
    about = {"accounting": "file", "person": kind, "even_share": even}
    about |= {"n_lists": coded.codes.n_lists}
    return Measuring(draws, make, depends, about, ("split", "table", "groups", *PARTS))


def _paper_measuring(
    folder: ModelFolder,
    samples: SamplesConfig,
    asked: Questions,
    even: float,
    device: str,
    threads: int,
) -> Measuring:
    """Whole blocks of a folder's model, for persons known by their vectors."""
    table, groups, space = folder.table(), load_groups(folder), space_of(folder)
    draws = draws_of(table, groups, space, samples)
    make = MakeEvaluator(
        replace(table, users=None),
        groups.bounds,
        table.fold_in(asked.seen) if table.users is None else table.users[asked.users],
        asked,
        draws.menu,
        samples.metric,
        width_correction=space.as_printed,
        device=device,
        threads=threads,
    )
    about = {"accounting": "paper", "person": "vector", "even_share": even}
    depends = _fingerprint(folder, asked, draws, samples) | {"even": even}
    return Measuring(draws, make, depends, about, ("split", "table", "groups"))


def draws_of(
    table: BlockTable, groups: Groups, space: SpaceConfig, samples: SamplesConfig
) -> Draws:
    """The draws of whole blocks: rows of a menu, or free blocks where the space says so."""
    draws = Draws(
        PaperAccounting(groups.sizes, table.n_blocks, table.block_size),
        groups.n_groups,
        table.n_blocks,
        None if space.free else Menu.f32_prefixes(energy_order(table)),
        space.as_printed,
        (),
        samples.seed,
    )
    return _with_held_out(draws, samples, groups)


def _with_held_out(draws: Draws, samples: SamplesConfig, groups: Groups) -> Draws:
    """The draws with their held-out budgets."""
    return replace(draws, held_out=held_out_budgets(samples.held_out, groups.n_items, draws.ladder))


def _fingerprint(
    folder: ModelFolder, asked: Questions, draws: Draws, samples: SamplesConfig
) -> dict[str, Any]:
    """All that a measurement of any kind depends on."""
    users = fingerprint(
        {
            "users": asked.users,
            "seen": asked.seen.items,
            "seen_indptr": asked.seen.indptr,
            "relevant": asked.relevant.items,
            "relevant_indptr": asked.relevant.indptr,
        }
    )
    return {
        "model": folder.model_id,
        "users": users,
        "metric": samples.metric,
        "masks": "free" if draws.menu is None else draws.menu.fingerprint(),
        "printed": draws.printed,
        "held_out": [budget.n_bytes for budget in draws.held_out],
        "seed": samples.seed,
    }
