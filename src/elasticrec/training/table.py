"""BlockTable: what training leaves behind, users (U, D) and item blocks (V, N, d)."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from elasticrec.blocks.folding import settled
from elasticrec.data.interactions import Pairs, fingerprint

Score = Literal["aligned", "tiled"]


@dataclass(frozen=True)
class BlockTable:
    """Trained vectors, ready to score by `blocks.scoring`: no normalisation is left to do."""

    blocks: np.ndarray
    """(V, N, d) float32 item blocks."""
    users: np.ndarray | None
    """(U, D) float32 user vectors; None for `history`, whose users are sums of their items."""
    base: str
    """`mf`, `lightgcn` or `history`."""
    score: Score = "aligned"
    """How blocks meet a user: `aligned`, or `tiled` (Eq. 2 as printed)."""
    fold_map: np.ndarray | None = None
    """(D, D) float32: turns a sum of item vectors into a user vector; None is the identity."""
    temperature: float | None = None
    """Of the softmax by which users were trained; None for other losses and `history`."""

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

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything as plain arrays."""
        out = {"blocks": self.blocks}
        if self.users is not None:
            out["users"] = self.users
        if self.fold_map is not None:
            out["fold_map"] = self.fold_map
        return out

    def fingerprint(self) -> str:
        """Hex sha256 of the content."""
        trained = "" if self.temperature is None else f"|{self.temperature}"
        kind = np.array(f"{self.base}|{self.score}{trained}")
        return fingerprint({**self.arrays(), "kind": kind})

    def save(self, path: Path | str) -> None:
        """Write one `.safetensors` file, whole or not at all."""
        from safetensors.numpy import save

        path = Path(path)
        partial = path.with_name(path.name + ".part")
        about = {"base": self.base, "score": self.score, "temperature": self.temperature}
        contiguous = {name: np.ascontiguousarray(a) for name, a in self.arrays().items()}
        partial.write_bytes(save(contiguous, metadata={"elasticrec": json.dumps(about)}))
        os.replace(partial, path)

    @classmethod
    def load(cls, path: Path | str) -> BlockTable:
        """The table that `save` wrote."""
        from safetensors import safe_open

        with safe_open(path, framework="numpy") as file:
            about = json.loads(file.metadata()["elasticrec"])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return cls(
            blocks=arrays["blocks"],
            users=arrays.get("users"),
            base=about["base"],
            score=about["score"],
            fold_map=arrays.get("fold_map"),
            temperature=about.get("temperature"),
        )

    def renumbered(self, order: np.ndarray) -> BlockTable:
        """The same table with items in a new order: new item k is old item `order[k]`."""
        return replace(self, blocks=self.blocks[order])

    def fold_in(self, histories: Pairs) -> np.ndarray:
        """(n, D) vectors of persons never seen: item sums, mapped, then settled as training would.

        Only users trained by a softmax on cosines are settled (`blocks.folding`).
        """
        vectors = self.item_sums(histories)
        if self.fold_map is not None:
            vectors = vectors @ self.fold_map
        if self.temperature is None or self.score != "aligned":
            return vectors
        return settled(vectors, histories, self.items, self.temperature)

    def item_sums(self, histories: Pairs) -> np.ndarray:
        """(n, D) normalised sums of persons' unit items."""
        lengths = np.linalg.norm(self.items, axis=1, keepdims=True)
        sums = np.asarray(histories.csr() @ (self.items / np.maximum(lengths, 1e-12)))
        norms = np.linalg.norm(sums, axis=1, keepdims=True)
        return np.asarray(sums / np.maximum(norms, 1e-12), dtype=np.float32)
