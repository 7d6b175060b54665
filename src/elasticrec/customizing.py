"""From a budget to the file that fits it: search a composition, then pack it."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from elasticrec.blocks.folder import ModelFolder
from elasticrec.bundle.material import Material
from elasticrec.bundle.writer import pack
from elasticrec.data.errors import InputError
from elasticrec.data.files import written_whole
from elasticrec.search.answers import answer_budgets
from elasticrec.search.searcher import Searcher
from elasticrec.space.budget import Budget

if TYPE_CHECKING:
    from elasticrec.data.ids import Ids
    from elasticrec.estimator.config import EstimatorConfig, SamplesConfig
    from elasticrec.search.config import SearchConfig
    from elasticrec.search.problem import Found, Quality

log = logging.getLogger(__name__)

IdChoice = Literal["none", "original"]


@dataclass(frozen=True, eq=False)
class Customized:
    """The bundle of one budget."""

    budget: Budget
    """What was granted, a person's vector included where one comes from the server."""
    found: Found
    """The composition, and how it was found; its bytes include a reserved vector's."""
    content: bytes
    """The file."""

    @property
    def sha256(self) -> str:
        """Hex hash of the file, by which a device may check it."""
        return hashlib.sha256(self.content).hexdigest()

    def write(self, path: Path | str) -> Path:
        """The path, after the file was written there, whole or not at all."""
        with written_whole(path) as file:
            file.write(self.content)
        return Path(path)

    def summary(self) -> str:
        """One line: bytes of the file, of the budget, estimated and measured quality."""
        quality = f"estimated {self.found.estimate:.4f}"
        if self.found.measured is not None:
            quality += f", measured {self.found.measured:.4f}"
        note = f" ({self.found.note})" if self.found.note else ""
        return f"{len(self.content):,} bytes of {self.budget.n_bytes:,}, {quality}{note}"


class Customizer:
    """A coded model with an estimator, ready to make bundles."""

    def __init__(
        self,
        folder: ModelFolder,
        *,
        ids: IdChoice = "none",
        with_map: bool = False,
        without: Iterable[int | str] = (),
        name: str | None = None,
    ) -> None:
        """A customizer of the model in a folder.

        Args:
            ids: whether bundles hold the original ids, or speak of items by number.
            with_map: whether bundles hold the map from a history to a vector.
            without: original ids of items that shall never be listed.
            name: what bundles say they are; by default the name of the data.
        """
        searcher = Searcher(folder)
        if searcher.accounting_name != "file":
            raise InputError(
                f"the estimator of {folder.root} was made for the paper's accounting, which has no "
                "files; `elasticrec estimate` makes one for bundles"
            )
        split = folder.split()
        self.name = split.name if name is None else name
        self.withdrawn = _numbered(split.item_ids, without)
        self.material = replace(Material.of(folder, ids=ids, map=with_map), person=searcher.person)
        charged = self.material.accounting(len(self.withdrawn))
        self.searcher = Searcher(folder, charged=charged)

    def customize(
        self,
        budgets: Sequence[Budget],
        config: SearchConfig,
        *,
        seed: int = 0,
        evaluate: Quality | None = None,
        report: Quality | None = None,
        measured: bool = False,
    ) -> list[Customized]:
        """The bundle of each distinct budget, ascending, one inside the next where that is free.

        Args:
            seed, evaluate, report, measured: as in `search.answers.answer_budgets`.
        """
        for budget in budgets:
            self.searcher.candidates(budget)  # refuses one that is too small before any long work
        answers = answer_budgets(
            self.searcher,
            budgets,
            config,
            seed=seed,
            controls=(),
            evaluate=evaluate,
            report=report,
            measured=measured,
        )
        return [self.packed(answer.budget, answer.searched) for answer in answers]

    def packed(self, budget: Budget, found: Found) -> Customized:
        """The bundle of what was found for a budget; never larger than the budget allows."""
        content = pack(
            self.material,
            found.composition,
            about=self._about(budget, found),
            withdrawn=self.withdrawn.tolist(),
        )
        reserved = self.material.accounting(len(self.withdrawn)).reserved_bytes
        if len(content) + reserved != found.n_bytes or found.n_bytes > budget.n_bytes:
            raise AssertionError(
                f"a bundle of {len(content)} bytes beside {reserved} reserved ones, expected "
                f"{found.n_bytes} together and at most {budget.n_bytes}"
            )
        return Customized(budget, found, content)

    def _about(self, budget: Budget, found: Found) -> dict[str, Any]:
        """What the bundle says of itself."""
        return {
            "name": self.name,
            "metric": self.searcher.metric,
            "quality": found.measured,
            "estimate": round(found.estimate, 6),
            "budget": budget.n_bytes,
        }


def make_ready(
    folder: ModelFolder,
    samples: SamplesConfig,
    fitting: EstimatorConfig,
    *,
    device: str = "auto",
    tell: Callable[[str], None] = lambda _: None,
) -> None:
    """Give a trained model's folder codes and an estimator, unless it has those of this model.

    Args:
        samples, fitting: settings of an estimator that is made here.
        tell: called with what begins now, which may take minutes.
    """
    from elasticrec.storing import StoringConfig, is_stored, store

    if not is_stored(folder):
        config = StoringConfig(metric=samples.metric)
        store(folder, config, device=device, tell=lambda part: tell(f"making the {part}"))
    try:
        known = Searcher(folder).accounting_name == "file"
    except InputError:  # there is none, or one of another model
        known = False
    if not known:
        from elasticrec.estimator.building import LEDGER
        from elasticrec.search.estimating import estimate_model

        tell("measuring compositions")
        (folder.root / LEDGER).unlink(missing_ok=True)
        estimate_model(folder, samples, fitting, accounting="file", workers=2, device=device)


def _numbered(ids: Ids, wanted: Iterable[int | str]) -> np.ndarray:
    """The distinct numbers of original ids, ascending; unknown ones are skipped, not all of them.

    A list of withdrawn items may name some that came after the training; one in which no item is
    known is a list of something else.
    """
    listed = list(wanted)
    numbers = ids.numbers(listed)
    unknown = numbers < 0
    if listed and unknown.all():
        some = ", ".join(repr(value) for value in ids.values[:3].tolist())
        raise InputError(
            f"none of {len(listed)} withdrawn items is known, the first is {listed[0]!r}; expected "
            f"ids such as {some}"
        )
    if unknown.any():
        first = listed[int(np.argmax(unknown))]
        log.warning(
            "skipped %d of %d withdrawn items as unknown, the first is %r",
            unknown.sum(), len(listed), first,
        )  # fmt: skip
    return np.unique(numbers[~unknown])
