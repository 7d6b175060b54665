"""BlockTable: what training leaves behind, users (U, D) and item blocks (V, N, d)."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from elasticrec.data.interactions import Pairs
from elasticrec.errors import InputError
from elasticrec.files import fingerprint, save_bytes

if TYPE_CHECKING:
    from elasticrec.training.config import TrainConfig

Score = Literal["aligned", "tiled"]
"""The product of user and blocks. Read literally, Eq. 2 repeats each block N times, so a score is
the product of two d-vectors whatever is kept: `tiled`. By `aligned`, block n of the item meets
block n of the user."""


@dataclass(frozen=True, eq=False)
class BlockTable:
    """Trained vectors.

    A person known by history is the normalised sum of the unit vectors of her items.
    """

    blocks: np.ndarray
    """(V, N, d) float32 item blocks."""
    users: np.ndarray | None
    """(U, D) float32 user vectors; None for `history`, whose users are sums of their items."""
    base: str
    """`mf`, `lightgcn` or `history`."""
    score: Score = "aligned"
    """The product of user and blocks: `aligned`, or `tiled` (Eq. 2 as printed)."""
    cosine: bool = False
    """True: items count by direction alone, and all of them are unit vectors."""
    popularity_exponent: float = 0.0
    """Scores are multiplied by an item's relative popularity to this power."""
    recency: float = 0.0
    """An item of a history that a others followed weighs 1 / (1 + recency · a)."""

    def __repr__(self) -> str:
        shape = f"{self.n_items:,} items, {self.n_blocks} blocks of {self.block_size}"
        return f"BlockTable({self.base}, {shape})"

    @property
    def n_items(self) -> int:
        """V."""
        return self.blocks.shape[0]

    @property
    def n_blocks(self) -> int:
        """N."""
        return self.blocks.shape[1]

    @property
    def block_size(self) -> int:
        """d."""
        return self.blocks.shape[2]

    @property
    def dimensions(self) -> int:
        """D = N·d."""
        return self.n_blocks * self.block_size

    @property
    def items(self) -> np.ndarray:
        """(V, D) view: each item's blocks one after the other."""
        return self.blocks.reshape(self.n_items, -1)

    def effective(self, per_item: np.ndarray | None = None) -> tuple[np.ndarray | None, np.ndarray]:
        """Users and items as two plain matrices whose product is the score.

        (U, D) and (V, D) for `aligned`, (U, d) and (V, d) for `tiled`; users are None for
        `history`. Scores may depend on the popularity of each item (V,).
        """
        items = folded(self.items, self)
        if self.popularity_exponent:
            if per_item is None:
                raise InputError(
                    f"scores depend on popularity to the power {self.popularity_exponent}; "
                    "expected the popularity of each item"
                )
            items = items * popularity_factors(per_item, self.popularity_exponent)[:, None]
        return None if self.users is None else folded(self.users, self), items

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything as plain arrays."""
        return {"blocks": self.blocks} | ({} if self.users is None else {"users": self.users})

    def facts(self) -> dict[str, str | bool | float]:
        """Everything else, as plain values."""
        arrays = ("blocks", "users")
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in arrays}

    def fingerprint(self) -> str:
        """Hex sha256 of the content."""
        facts = np.array(json.dumps(self.facts(), sort_keys=True))
        return fingerprint({**self.arrays(), "facts": facts})

    def save(self, path: Path | str) -> None:
        """Write one `.safetensors` file, whole or not at all."""
        from safetensors.numpy import save

        contiguous = {name: np.ascontiguousarray(a) for name, a in self.arrays().items()}
        save_bytes(path, save(contiguous, metadata={"elasticrec": json.dumps(self.facts())}))

    @classmethod
    def load(cls, path: Path | str) -> BlockTable:
        """The table that `save` wrote; any other file is refused."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(path, framework="numpy") as file:
                facts = json.loads((file.metadata() or {})["elasticrec"])
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return cls(arrays["blocks"], arrays.get("users"), **facts)
        except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path}: cannot be read ({error}), expected a table") from None

    def fold_in(self, histories: Pairs) -> np.ndarray:
        """(n, D) float32 persons known by history: normalised sums of their items' unit vectors."""
        sums = np.asarray(histories.csr(self.recency) @ unit(self.items))
        return np.asarray(unit(sums), dtype=np.float32)


def unit(vectors: np.ndarray) -> np.ndarray:
    """Rows divided by their norms; rows of zeros stay."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(norms, 1e-12))


def folded(vectors: Any, how: BlockTable | TrainConfig) -> Any:
    """Arrays or tensors (…, D) as they are scored: as they are, or (…, d) summed if tiled."""
    if how.score == "aligned":
        return vectors
    n_blocks = vectors.shape[-1] // how.block_size  # numpy cannot infer -1 from no vectors
    return vectors.reshape(*vectors.shape[:-1], n_blocks, how.block_size).sum(-2)


def popularity_factors(per_item: np.ndarray, exponent: float) -> np.ndarray:
    """(V,) float32, at most 1: ((popularity + 1) / (the largest + 1))^exponent."""
    shares = (per_item + 1.0) / (per_item.max(initial=0) + 1.0)
    return np.asarray(shares**exponent, dtype=np.float32)
