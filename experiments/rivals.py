"""Other ways to spend a file's bytes on one trained table, for `experiments.sizes`.

`truncation`: the first numbers of every vector in order of energy, as float32. `faiss-sq8`,
`faiss-sq4`: scalar quantisers of as many such numbers as fit. `faiss-pq`: product quantisers of the
whole vector, their centroids counted. `itemcf`, `sparse-linear`: neighbours alone, packed as ours
are, in a file of ours. All of them leave room for the person's vector where they need one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from elasticrec.blocks.folder import ModelFolder
from elasticrec.compression.rotation import energy_rotation, rotated
from elasticrec.evaluation.device_path import measure_composition
from elasticrec.evaluation.ranking import Evaluation, evaluate
from elasticrec.space.composition import Composition
from elasticrec.storing import load_coded, neighbour_source

if TYPE_CHECKING:
    from elasticrec.customizing import Customizer
    from elasticrec.space.budget import Budget

CENTROIDS = 256


class OnTest:
    """Test metrics of one model's compositions and of any vectors, on the same users."""

    def __init__(
        self, folder: ModelFolder, metrics: tuple[str, ...], users: int, device: str
    ) -> None:
        self.split, self.model = folder.split(), load_coded(folder)
        self.table = rotated(folder.table(), energy_rotation(folder.table()))
        self.metrics, self.device = metrics, device
        able = np.flatnonzero(self.split.test.per_user > 0)
        if users and users < len(able):
            able = np.sort(np.random.default_rng(0).choice(able, users, replace=False))
        self.users = able
        self._known: dict[tuple[str, str], dict[str, float]] = {}

    @property
    def persons(self) -> tuple[str, ...]:
        """The kinds of person the model can serve."""
        return ("vector+history", "history") if self.model.users is not None else ("history",)

    def coded_evaluation(self, composition: Composition, person: str) -> Evaluation:
        """A composition, measured the way a device ranks."""
        return measure_composition(
            self.model, composition, self.split,
            person=person, metrics=self.metrics, users=self.users, device=self.device,
        )  # fmt: skip

    def coded(self, composition: Composition, person: str) -> dict[str, float]:
        """The same as plain numbers, measured once."""
        key = composition.fingerprint(), person
        if key not in self._known:
            self._known[key] = _plain(self.coded_evaluation(composition, person))
        return self._known[key]

    def vectors(self, items: np.ndarray) -> dict[str, float]:
        """Item vectors (V, k), k numbers in order of energy, for persons with a vector."""
        padded = np.zeros(self.table.items.shape, dtype=np.float32)
        padded[:, : items.shape[1]] = items
        found = evaluate(
            self.table, self.split,
            metrics=self.metrics, users=self.users, composition_items=padded, device=self.device,
        )  # fmt: skip
        return _plain(found)

    def full(self) -> dict[str, Any]:
        """The whole table as it was trained."""
        started = time.perf_counter()
        metrics = self.vectors(self.table.items)
        seconds = time.perf_counter() - started
        return {"metrics": metrics, "seconds": seconds, "dimensions": self.table.dimensions}


def _plain(found: Evaluation) -> dict[str, float]:
    return found.metrics | {"coverage": found.coverage, "users": found.n_users}


def rivals_of(
    folder: ModelFolder, customizer: Customizer, budget: Budget, on_test: OnTest
) -> Iterator[dict[str, Any]]:
    """A line per rival that fits a budget at all."""
    items = on_test.table.items
    V, D = items.shape
    for_items = budget.n_bytes - 2 * D  # a person's vector in half precision, as ours
    started = time.perf_counter()
    width = min(D, for_items // (4 * V))
    if width:
        yield _line("truncation", 4 * V * width, width, on_test.vectors(items[:, :width]), started)
    for name, bits in (("SQ8", 8), ("SQ4", 4)):
        started = time.perf_counter()
        width = min(D, (for_items - 8 * D) * 8 // (bits * V))
        width -= width % 2  # two numbers of 4 bits share a byte
        if width >= 2:
            coded = quantised(np.ascontiguousarray(items[:, :width]), name)
            taken = V * width * bits // 8 + 8 * width  # and the range of each number
            yield _line(f"faiss-{name.lower()}", taken, width, on_test.vectors(coded), started)
    started = time.perf_counter()
    table = 4 * CENTROIDS * D
    parts = [m for m in range(1, D + 1) if D % m == 0 and table + m * V <= for_items]
    if parts:
        coded = quantised(items, f"PQ{parts[-1]}")
        yield _line("faiss-pq", table + parts[-1] * V, D, on_test.vectors(coded), started)
    yield from _neighbours_alone(folder, customizer, budget, on_test)


def quantised(items: np.ndarray, name: str) -> np.ndarray:
    """(V, k) the vectors as one of faiss' flat codecs gives them back."""
    import faiss

    index = faiss.index_factory(items.shape[1], name, faiss.METRIC_INNER_PRODUCT)
    index.train(items)
    index.add(items)
    return np.asarray(index.reconstruct_n(0, len(items)))


def _neighbours_alone(
    folder: ModelFolder, customizer: Customizer, budget: Budget, on_test: OnTest
) -> Iterator[dict[str, Any]]:
    """As many neighbours for every item as fit, and no codes; for both kinds of person."""
    menu, accounting = customizer.searcher.menu, customizer.searcher.accounting
    G = customizer.searcher.groups.n_groups
    alone = np.flatnonzero((menu.depths == 0).all(axis=1) & (menu.neighbours > 0))
    fits = [
        row for row in alone if accounting.size(menu.compose(np.full(G, row))) <= budget.n_bytes
    ]
    if not fits:
        return
    composition = menu.compose(np.full(G, fits[-1]))
    source = neighbour_source(folder)
    for person in on_test.persons:
        started = time.perf_counter()
        metrics = on_test.coded(composition, person)
        method = "sparse-linear" if source == "linear" else "itemcf"
        size = accounting.size(composition)
        yield _line(method, size, None, metrics, started) | {"person": person}


def _line(
    method: str, n_bytes: int, width: int | None, metrics: dict[str, float], started: float
) -> dict[str, Any]:
    return {
        "method": method,
        "person": "vector",
        "file_bytes": n_bytes,
        "dimensions": width,
        "metrics": metrics,
        "seconds": time.perf_counter() - started,
    }
