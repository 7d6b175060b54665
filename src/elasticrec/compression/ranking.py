"""Whole codewords trained to rank: what they say of items shall rank well, and of persons, too.

Codewords are fitted to vectors first, by squared error. In the few bytes of a small file most of a
vector is missing, and what is missing of all of a person's items adds up. So some epochs of the
training go on through the codes: items are what the first columns say, a random number of them in
each step; which codewords an item has stays, and the codewords move.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from elasticrec.compression.codebooks import BLOCK, CODEWORDS, HALF, Column, quantized
from elasticrec.compression.compress import Coarse
from elasticrec.compression.config import CompressionConfig
from elasticrec.data.split import Split
from elasticrec.training.bases import Users, sums
from elasticrec.training.config import TrainConfig
from elasticrec.training.loop import train
from elasticrec.training.rows import Leaves, Tables, take
from elasticrec.training.sampler import Batch


def trained_to_rank(
    found: Coarse,
    split: Split,
    config: CompressionConfig,
    training: TrainConfig,
    *,
    device: str = "auto",
) -> Coarse:
    """The same columns with codewords that were trained on the split's train pairs.

    Args:
        training: settings of the training that made the items.
    """
    codewords = np.stack([c.codewords * np.float32(c.scale) for c in found.columns])  # (C, 32, D)
    data = np.stack([c.bytes for c in found.columns], axis=1).astype(np.int64)  # (V, C)
    first = CODEWORDS * np.arange(len(found.columns))
    named = np.stack([first + data % HALF, first + HALF + data // HALF], axis=2)  # (V, C, 2)

    base: ThroughCodes | None = None

    def make(_: object, __: object, generator: torch.Generator) -> ThroughCodes:
        nonlocal base
        base = ThroughCodes(codewords, named, config.fewest_residual, generator)
        return base

    epochs = config.ranking_epochs
    settings = replace(
        training, epochs=epochs, evaluate_every=epochs, learning_rate=config.ranking_rate,
        n_blocks=found.vectors.shape[1] // BLOCK, block_size=BLOCK,
        popularity_exponent=0.0, recency=0.0, diversity=0.0, l2=0.0, temperatures=(),
    )  # fmt: skip
    train(split, settings, device=device, make=make, report=lambda _: None)
    assert base is not None
    moved = base.tables["codewords"].cpu().numpy().reshape(codewords.shape)
    said = base.final()[1].cpu().numpy()
    # Only directions were trained: of all lengths the one that leaves least over.
    moved *= float((said * found.vectors).sum() / np.square(said).sum())
    columns = []
    for new, old in zip(moved, found.columns, strict=True):
        whole, scale = quantized(new)
        columns.append(Column(whole, old.block, scale, old.bytes))
    return replace(found, columns=columns)


class ThroughCodes:
    """Items are sums of codewords, and users are sums of items, as in `history`.

    Each step takes so many columns that small numbers and large ones are as likely by ratio.
    """

    name = "history"
    whole_users = True

    def __init__(
        self, codewords: np.ndarray, named: np.ndarray, fewest: int, generator: torch.Generator
    ) -> None:
        """Args: codewords: (C, 32, D). named: (V, C, 2) rows of them. fewest: columns, at least."""
        where = generator.device
        rows = codewords.reshape(-1, codewords.shape[-1])
        self.tables: Tables = {"codewords": torch.from_numpy(rows).to(where)}
        self.named = torch.from_numpy(named).to(where)
        self.fewest, self.generator = min(fewest, named.shape[1]), generator

    def forward(self, leaves: Leaves, batch: Batch) -> tuple[Users, list[Tensor]]:
        """Users and items by a random number of columns."""
        distinct, places = torch.unique(torch.cat(batch.items), return_inverse=True)
        said = self._say(leaves.whole("codewords"), self.named[distinct, : self._columns()])
        items = take(said, list(places.split([len(part) for part in batch.items])))
        return sums(items[0], batch), items

    def final(self) -> tuple[None, Tensor]:
        """No users, and (V, D) items by all columns."""
        return None, self._say(self.tables["codewords"], self.named)

    def _columns(self) -> int:
        most = self.named.shape[1]
        drawn = torch.rand((), generator=self.generator, device=self.generator.device).item()
        return min(most, int(self.fewest * ((most + 1) / self.fewest) ** drawn))

    @staticmethod
    def _say(codewords: Tensor, named: Tensor) -> Tensor:
        return embedding_bag(named.flatten(1), codewords, mode="sum")
