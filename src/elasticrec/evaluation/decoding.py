"""Vectors of items under a row of depths, in torch: `Codes.decode` on a CPU or a GPU."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn.functional import embedding_bag

from elasticrec.coding.signs import SIGNS, step_table

if TYPE_CHECKING:
    from torch import Tensor

    from elasticrec.coding.codes import Codes


class Decoder:
    """Decodes a group under a row when asked; keeps the latest, as much as one table in all."""

    def __init__(self, codes: Codes, device: str) -> None:
        self._codes = codes
        self._planes = _tensor(codes.planes, device)  # (N, 8, V)
        self._means = _tensor(codes.means.astype(np.float32), device)  # (G, D)
        self._scales = _tensor(codes.scales, device)
        self._steps = step_table(codes.steps.astype(np.float32))  # (8, 8)
        tables = self._steps[:, :, None, None] * SIGNS  # (8, 8, 256, 8): depth, plane, byte
        self._signs = torch.from_numpy(tables).to(device)
        readings = np.stack([codes.reading(n) for n in range(codes.n_blocks)])
        self._readings = torch.from_numpy(readings).to(device)  # (N, 256, 8)
        self._device = device
        self._kept: OrderedDict[tuple[int, bytes], Tensor] = OrderedDict()
        self._lock = threading.Lock()

    def mean(self, group: int) -> Tensor:
        """(D,) the mean of a group."""
        return self._means[group]

    def vectors(self, group: int, depths: np.ndarray) -> Tensor:
        """(|V_g|, D) float32 vectors of a group's items; the caller must not change them."""
        key = group, depths.tobytes()
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        decoded = self.decode(group, depths)
        with self._lock:
            self._kept[key] = decoded
            while sum(map(len, self._kept.values())) > self._codes.n_items:
                self._kept.popitem(last=False)
        return decoded

    def decode(self, group: int, depths: np.ndarray) -> Tensor:
        """The same, always decoded anew."""
        lo, hi = (int(bound) for bound in self._codes.bounds[group : group + 2])
        vectors = self._means[group].repeat(hi - lo, 1)
        if not depths.any():
            return vectors
        gain = self._gain(depths, lo, hi)
        by_block = vectors.view(hi - lo, -1, SIGNS.shape[1])  # (n, N, 8)
        for depth in np.unique(depths[depths > 0]).tolist():
            blocks = torch.from_numpy(np.flatnonzero(depths == depth)).to(self._device)
            kept = self._first(blocks, lo, hi) * float(self._steps[depth - 1, 0])
            if depth > 1:
                kept += self._others(blocks, depth, lo, hi)
            by_block[:, blocks] += kept * gain[:, None, None]
        return vectors

    def _first(self, blocks: Tensor, lo: int, hi: int) -> Tensor:
        """(n, b, 8) what the first planes of some blocks say."""
        at = self._planes[blocks, 0, lo:hi].T.to(torch.int32)  # (n, b)
        at = at + 256 * torch.arange(len(blocks), dtype=torch.int32, device=self._device)
        table = self._readings[blocks] * self._scales[blocks, 0, None, None]
        return (
            table.reshape(-1, SIGNS.shape[1])
            .index_select(0, at.reshape(-1))
            .view(hi - lo, len(blocks), -1)
        )

    def _others(self, blocks: Tensor, depth: int, lo: int, hi: int) -> Tensor:
        """(n, b, 8) what the planes after the first say of blocks of one depth."""
        bytes_ = self._planes[blocks, 1:depth, lo:hi].permute(2, 0, 1)  # (n, b, depth - 1)
        index = bytes_.to(torch.int32) + 256 * torch.arange(
            depth - 1, dtype=torch.int32, device=self._device
        )
        table = self._signs[depth - 1, 1:depth].reshape(-1, SIGNS.shape[1])
        sums = embedding_bag(index.reshape(-1, depth - 1), table, mode="sum")
        return sums.view(hi - lo, len(blocks), -1) * self._scales[blocks, 1, None]

    def _gain(self, depths: np.ndarray, lo: int, hi: int) -> Tensor:
        """(n,) the gains of some items under a row."""
        chosen = self._codes.gains[self._codes.row_of(depths), lo:hi]
        return torch.from_numpy(self._codes.gain_values[chosen].astype(np.float32)).to(self._device)


def _tensor(values: np.ndarray, device: str) -> Tensor:
    """An array on a device; copied if read-only, as torch would warn."""
    return torch.from_numpy(values if values.flags.writeable else values.copy()).to(device)
