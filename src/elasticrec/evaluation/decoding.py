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
        self._spreads = _tensor(codes.spreads, device)
        steps = step_table(codes.steps.astype(np.float32))  # (8, 8)
        tables = steps[:, :, None, None] * SIGNS  # (8, 8, 256, 8): depth, plane, byte
        self._tables = torch.from_numpy(tables).to(device)
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
            bytes_ = self._planes[blocks, :depth, lo:hi].permute(2, 0, 1)  # (n, b, depth)
            index = bytes_.to(torch.int32) + 256 * torch.arange(
                depth, dtype=torch.int32, device=self._device
            )
            table = self._tables[depth - 1, :depth].reshape(-1, SIGNS.shape[1])
            sums = embedding_bag(index.reshape(-1, depth), table, mode="sum")
            kept = sums.view(hi - lo, len(blocks), -1) * self._spreads[blocks, None]
            by_block[:, blocks] += kept * gain[:, None, None]
        return vectors

    def _gain(self, depths: np.ndarray, lo: int, hi: int) -> Tensor:
        """(n,) the gains of some items under a row."""
        chosen = self._codes.gains[self._codes.row_of(depths), lo:hi]
        return torch.from_numpy(self._codes.gain_values[chosen].astype(np.float32)).to(self._device)


def _tensor(values: np.ndarray, device: str) -> Tensor:
    """An array on a device; copied if read-only, as torch would warn."""
    return torch.from_numpy(values if values.flags.writeable else values.copy()).to(device)
