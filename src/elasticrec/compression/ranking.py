"""The first columns trained to rank: what they say of items shall rank well, and of persons, too.

Columns are fitted to vectors first, by squared error. In the few bytes of a small file most of a
vector is missing, and what is missing of all of a person's items adds up. So some epochs of the
training go on through the codes: items count as what their first columns say, a random number of
them in each step. Codewords move, and so do the items' vectors, by what would be better for what is
said of them: items then change their codewords. The columns behind these are fitted to what is left
of the vectors as they were, so that large files lose little.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from elasticrec.compression.codebooks import (
    BLOCK,
    CODEWORDS,
    HALF,
    coded,
    quantized,
    residual_columns,
)
from elasticrec.compression.compress import Coarse
from elasticrec.compression.config import CompressionConfig
from elasticrec.data.interactions import Pairs
from elasticrec.data.split import Split
from elasticrec.training.bases import Users, sums
from elasticrec.training.config import TrainConfig
from elasticrec.training.loop import train
from elasticrec.training.rows import Leaves, Tables, take
from elasticrec.training.sampler import Batch

_ITEMS_AT_ONCE = 1 << 16


def trained_to_rank(
    found: Coarse,
    split: Split,
    config: CompressionConfig,
    training: TrainConfig,
    *,
    device: str = "auto",
) -> Coarse:
    """As many columns, the first ones trained on the split's train pairs.

    Args:
        training: settings of the training that made the items.
    """
    n_columns = len(found.columns)
    K = min(n_columns, max(config.fewest_residual, int(config.ranking_share * n_columns)))
    codewords = np.stack([c.codewords * np.float32(c.scale) for c in found.columns[:K]])
    epochs = config.ranking_epochs
    settings = replace(
        training, epochs=epochs, evaluate_every=epochs, learning_rate=config.ranking_rate,
        n_blocks=found.vectors.shape[1] // BLOCK, block_size=BLOCK,
        popularity_exponent=0.0, recency=0.0, diversity=0.0, l2=0.0, temperatures=(),
    )  # fmt: skip
    make = partial(_through_codes, codewords, found.vectors, config.fewest_residual)
    trained = train(split, settings, device=device, make=make, report=lambda _: None).tables
    items = trained["items"].cpu().numpy()
    left, columns = items.copy(), []
    for moved in trained["codewords"].cpu().numpy().reshape(codewords.shape):
        columns.append(coded(left, *quantized(moved)))
    said = items - left
    # Only directions were trained: of all lengths the one that leaves least over.
    length = float((said * found.vectors).sum() / np.square(said).sum())
    columns = [replace(column, scale=column.scale * length) for column in columns]
    rest = replace(found, columns=columns).rest()
    rng = np.random.default_rng([config.seed, 2])
    return replace(found, columns=columns + residual_columns(rest, n_columns - K, config, rng))


def _through_codes(
    codewords: np.ndarray, items: np.ndarray, fewest: int,
    _train: Pairs, _config: TrainConfig, generator: torch.Generator,
) -> ThroughCodes:  # fmt: skip
    return ThroughCodes(codewords, items, fewest, generator)


class ThroughCodes:
    """Items count as the sums of codewords that are next to them; users are sums of items.

    Each step takes so many columns that small numbers and large ones are as likely by ratio. What
    the loss asks of a sum is asked of its codewords, and of the item itself (straight-through).
    """

    name = "history"
    whole_users = True

    def __init__(
        self, codewords: np.ndarray, items: np.ndarray, fewest: int, generator: torch.Generator
    ) -> None:
        """Args: codewords: (C, 32, D). items: (V, D). fewest: columns, at least."""
        tables = {"codewords": codewords.reshape(-1, codewords.shape[-1]), "items": items}
        where = generator.device
        self.tables: Tables = {n: torch.tensor(t, device=where) for n, t in tables.items()}
        self.most, self.fewest = len(codewords), min(fewest, len(codewords))
        self.generator = generator

    def forward(self, leaves: Leaves, batch: Batch) -> tuple[Users, list[Tensor]]:
        """Users and items by a random number of columns."""
        rows, places = leaves.rows("items", torch.cat(batch.items))
        codewords = leaves.whole("codewords")
        said = self._say(rows.detach(), codewords, self._columns()) + (rows - rows.detach())
        items = take(said, list(places.split([len(part) for part in batch.items])))
        return sums(items[0], batch), items

    def final(self) -> tuple[None, Tensor]:
        """No users, and (V, D) items by all columns."""
        parts = self.tables["items"].split(_ITEMS_AT_ONCE)
        said = [self._say(part, self.tables["codewords"], self.most) for part in parts]
        return None, torch.cat(said)

    def _columns(self) -> int:
        drawn = torch.rand((), generator=self.generator, device=self.generator.device).item()
        return min(self.most, int(self.fewest * ((self.most + 1) / self.fewest) ** drawn))

    def _say(self, items: Tensor, codewords: Tensor, n_columns: int) -> Tensor:
        """(n, D) what the first columns say of items: in each the sum of two next to the rest."""
        rest, named = items.clone(), []
        for first in range(0, n_columns * CODEWORDS, CODEWORDS):
            words = codewords.detach()[first : first + CODEWORDS]
            low, high = words[:HALF], words[HALF:]
            lengths = (high[:, None] + low).square().sum(dim=2) / 2  # (16, 16)
            near = rest @ words.T  # (n, 32)
            far = lengths - near[:, HALF:, None] - near[:, None, :HALF]  # (n, 16, 16)
            byte = far.flatten(1).argmin(dim=1)
            named += [first + byte % HALF, first + HALF + byte // HALF]
            rest -= low[byte % HALF] + high[byte // HALF]
        return embedding_bag(torch.stack(named, dim=1), codewords, mode="sum")
