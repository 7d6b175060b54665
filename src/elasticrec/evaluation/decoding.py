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
        steps = step_table(codes.steps.astype(np.float32))  # (8, 8)
        tables = steps[:, :, None, None] * SIGNS  # (8, 8, 256, 8): planes, plane, byte
        self._signs = torch.from_numpy(tables).to(device)
        self._words = torch.zeros((0, codes.dimensions), device=device)
        if codes.n_lists:
            readings = np.concatenate([codes.reading(k) for k in range(codes.n_lists)])
            self._words = torch.from_numpy(readings).to(device)  # (K·256, D)
        self._letters = _tensor(codes.letters.astype(np.float32), device)  # (256, 8), or none
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
        kept = torch.zeros_like(vectors)
        lists = np.flatnonzero(depths[: self._codes.n_lists])
        if len(lists):
            kept += self._summed(self._planes[lists, 0, lo:hi], self._words, lists)
        by_block = kept.view(hi - lo, -1, SIGNS.shape[1])  # (n, N, 8)
        first = self._codes.first_signs
        spelt = np.flatnonzero(depths >= first) if len(self._letters) else first[:0]
        if len(spelt):
            at = first[spelt] - 1
            by_block[:, spelt] += self._by_block(self._planes[spelt, at, lo:hi][:, None], 1, spelt)
        counts = np.maximum(depths.astype(np.int64) - first, 0)
        for count, start in np.unique(np.stack([counts, first], 1)[counts > 0], axis=0).tolist():
            blocks = np.flatnonzero((counts == count) & (first == start))
            planes = self._planes[blocks, start : start + count, lo:hi]
            by_block[:, blocks] += self._by_block(planes, 2, blocks)
        return vectors + kept * self._gain(depths, lo, hi)[:, None]

    def _by_block(self, planes: Tensor, kind: int, blocks: np.ndarray) -> Tensor:
        """(n, b, 8) what planes (b, c, n) of some blocks say: letters (1) or signs (2)."""
        b, c, n = planes.shape
        table = self._letters if kind == 1 else self._signs[c - 1, :c].reshape(-1, SIGNS.shape[1])
        sums = self._summed(planes.transpose(0, 1).reshape(c, b * n), table, np.arange(c))
        scales: Tensor = self._scales[blocks, kind, None]
        return sums.view(b, n, -1).transpose(0, 1) * scales

    def _summed(self, planes: Tensor, table: Tensor, tables: np.ndarray) -> Tensor:
        """(n, d) sums of what bytes (c, n) say, by the tables of 256 rows that are numbered."""
        at = torch.from_numpy(256 * tables.astype(np.int32)).to(self._device)
        return embedding_bag(planes.T.to(torch.int32) + at, table, mode="sum")

    def _gain(self, depths: np.ndarray, lo: int, hi: int) -> Tensor:
        """(n,) the gains of some items under a row."""
        chosen = self._codes.gains[self._codes.row_of(depths), lo:hi]
        return torch.from_numpy(self._codes.gain_values[chosen].astype(np.float32)).to(self._device)


def _tensor(values: np.ndarray, device: str) -> Tensor:
    """An array on a device; copied if read-only, as torch would warn."""
    return torch.from_numpy(values if values.flags.writeable else values.copy()).to(device)
