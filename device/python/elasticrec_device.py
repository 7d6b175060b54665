"""Recommendations on a device, from one `.elastic` file: numpy and the standard library only.

    with elasticrec_device.open("watch.elastic") as bundle:
        print([item.id for item in bundle.recommend(history=[12, 94, 7], k=20)])

or `python -m elasticrec_device watch.elastic --history 12 94 7 -k 20`, without a program.
The file is mapped and stays packed: what is small on disk stays small in memory. Several threads
may ask at the same time. Numbers in brackets name the sections of `docs/bundle-format.md`.
"""

from __future__ import annotations

import argparse
import builtins
import codecs
import functools
import hashlib
import json
import operator
import os
import struct
import sys
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Source: TypeAlias = str | os.PathLike[str] | bytes  # the path of a file, or its bytes
Id: TypeAlias = int | str

NAMES = "SHAPE META GROUPS MEANS DECODE CODES NEIGHBOURS MAP IDS WITHDRAWN WORDS"  # by kind
GROUP = np.dtype([("size", "<u4"), ("count", "u1"), ("zero", "u1", 3), ("weights", "<f4", 2)])
STRETCH = 16_384  # items scored, or numbers checked, at a time: they stay in the processor's cache
LOOKUPS = 65_536  # bytes turned into indices at a time: several columns of a small group
LONGEST, LOW, ALL = 1 << 40, (1 << 26) - 1, (1 << 64) - 1  # bytes of a file; bits of an item, a key


class BundleError(ValueError):
    """A file that is not what it should be; says what was found and what was expected."""


class Recommendation(NamedTuple):
    """One listed item."""

    id: Id  #: the item's own id
    score: float  #: higher is better; comparable within one list only
    title: str | None = None  #: its title, once `Bundle.catalogue` was given one that has it
    why: Id | None = None  #: the history item that speaks most for it, if asked for


class Recommendations(list[Recommendation]):
    """Listed items, best first."""

    unknown: int = 0  #: ids of the history that the bundle does not know; they were skipped


def _check(good: object, what: str, found: object, expected: object) -> None:
    if not good:
        raise BundleError(f"{what}: found {found}, expected {expected}")


def _equal(what: str, found: object, expected: object) -> None:
    _check(found == expected, what, found, expected)


def _within(what: str, values: Any, low: float, high: float) -> None:
    """Refuse numbers outside `low` to `high`, and what is no number."""
    flat = np.atleast_1d(values).ravel()
    for start in range(0, len(flat), STRETCH):
        with np.errstate(invalid="ignore"):
            part = flat[start : start + STRETCH].astype(np.float64)
            good = (part >= low) & (part <= high)
        _check(good.all(), what, flat[start + np.argmin(good)], f"{low} to {high}")


def _map(source: Source) -> Array:
    """The bytes of a file, memory-mapped; the mapping ends with the last array that uses it."""
    if isinstance(source, bytes) or not os.path.getsize(source):
        return np.frombuffer(source if isinstance(source, bytes) else b"", dtype=np.uint8)
    return np.memmap(source, dtype=np.uint8, mode="r").view(np.ndarray)


def _read_sections(data: Array) -> tuple[str, dict[str, Array]]:
    """Model id and sections of a file whose layout and checksums are right [1]."""
    _within("length of the file", len(data), 64, LONGEST)
    head = struct.unpack("<8sHHIQII32s", data[:64].tobytes())
    magic, version, zero, S, length, crc, zero_2, model_id = head
    _equal("magic and reserved bytes", (magic, zero, zero_2), (b"\x89ELASTIC", 0, 0))
    _check(version == 3, "version of the format", version, "3, the one this runtime reads")
    _within("number of sections", S, 6, 11)
    _check(length == len(data), "length of the file", len(data), f"{length}, as it says")
    end = 64 + 32 * S
    _within("length of the file", length, end, LONGEST)
    prefix = data[:end].tobytes()
    _equal("checksum of the head", zlib.crc32(prefix[28:], zlib.crc32(prefix[:24] + bytes(4))), crc)
    before, sections = 0, dict[str, Array]()
    for kind, crc, offset, size, zero in struct.iter_unpack("<IIQQQ", prefix[64:]):
        start = -(-end // 64) * 64
        _within("kind of a section", kind, before + 1, 11)
        name = NAMES.split()[kind - 1]
        _equal(f"offset and reserved bytes of {name}", (offset, zero), (start, 0))
        _within(f"length of {name}", size, 0, length - start)
        _within(f"padding before {name}", data[end:start], 0, 0)
        before, end = kind, start + size
        sections[name] = data[start:end]
        _equal(f"checksum of {name}", zlib.crc32(sections[name].data), crc)
    _equal("end of the last section", end, length)
    return model_id.hex(), sections


class _Ids:
    """Ids of the items in both directions [9]; the first look-up sorts one array."""

    def __init__(self, kind: int, V: int, raw: Array) -> None:
        self.kind, self.V, self.keys, self.lock = kind, V, np.empty(0, np.uint64), threading.Lock()
        self.raw, self.at = raw, np.arange(V + 1 if kind else 0, dtype=np.uint32) * (4 * kind)
        if kind < 3:
            return
        self.at, self.raw = raw[: 4 * V + 4].view("<u4"), raw[4 * V + 4 :]
        _equal("first and last offset of IDS", (self.at[0], self.at[-1]), (0, len(self.raw)))
        for start in range(0, V, STRETCH):
            part = self.at[start : start + STRETCH + 1]
            _within("an offset of IDS", part, 0, len(self.raw))
            _check((part[1:] > part[:-1]).all(), "offsets of IDS", "others", "rising ones")
            _within("first byte (i8) of an id", self.raw[part[:-1]].view(np.int8), -64, 127)
        parts = (self.raw[i : i + STRETCH].tobytes() for i in range(0, len(self.raw), STRETCH))
        try:
            sum(map(len, codecs.iterdecode(parts, "utf-8")))
        except UnicodeDecodeError as error:
            raise BundleError(f"IDS: found {error.reason}, expected UTF-8") from error

    def __getitem__(self, number: int) -> Id:
        if self.kind == 0:
            return number
        raw = self.raw[self.at[number] : self.at[number + 1]].tobytes()
        return raw.decode() if self.kind == 3 else int.from_bytes(raw, "little")

    def _sorted(self) -> Array:
        """Rising keys of all ids: 38 bits of a hash, then the item's number."""
        with self.lock:
            if not len(self.keys):
                hashed = (hash((self[i],)) & ALL & ~LOW | i for i in range(self.V))
                keys = np.fromiter(hashed, dtype=np.uint64, count=self.V)
                keys.sort()
                for place in np.flatnonzero(keys[1:] - keys[:-1] <= LOW):
                    one, next_one = (self[int(key) & LOW] for key in keys[place : place + 2])
                    _check(one != next_one, "IDS", f"{one!r} twice", "each id once")
                self.keys = keys
            return self.keys

    def find(self, ids: Iterable[Any]) -> tuple[Array, int]:
        """Distinct item numbers, rising, and how many ids do not occur."""
        numbers, unknown, type_ = [], 0, "text" if self.kind == 3 else "a whole number"
        for each in ids:
            if isinstance(each, str) != (self.kind == 3):
                raise TypeError(f"an id: expected {type_}, got {each!r}")
            value = each if self.kind == 3 else operator.index(each)
            near = [value] if self.kind == 0 and 0 <= value < self.V else []
            if self.kind:
                keys, key = self._sorted(), hash((value,)) & ALL & ~LOW
                start, stop = np.searchsorted(keys, np.array((key, key | LOW), dtype=np.uint64))
                near = [int(key) & LOW for key in keys[start : stop + 1]]
            found = [number for number in near if self[number] == value]
            numbers += found
            unknown += not found
        return np.unique(np.array(numbers, dtype=np.int64)), unknown


@functools.lru_cache(32)
def _kinds(depths: bytes, K: int) -> Array:
    """Of each byte column of a group: 38 · its block + its step; 36 is of letters, 37 of words."""
    block, p = np.nonzero(np.arange(8) < np.frombuffer(depths, dtype=np.uint8)[:, None])
    first = (block < K) + int(K > 0)  # plane of signs
    c, q = np.array(tuple(depths))[block] - first, p - first
    return np.asarray(38 * block + np.where(q < 0, 35 - q, c * (c - 1) // 2 + q))


class _File:
    """All that a checked file holds, as views on it; never changed after opening."""

    def __init__(self, data: Array) -> None:
        self.length = len(data)
        self.model_id, self.sections = _read_sections(data)
        self._read_shape(self._part("SHAPE", 64))
        self._read_groups(self._part("GROUPS", self.G * (16 + self.N)))
        V, N, D, has, meta = self.V, self.N, self.D, self.sections, self._part("META", 512)
        try:
            self.meta = json.loads(meta.tobytes().decode(), parse_constant=int)  # int refuses NaN
        except (ValueError, RecursionError) as error:
            raise BundleError(f"META: found {error}, expected JSON") from error
        _check(isinstance(self.meta, dict), "META", self.meta, "an object")
        self.means = self._part("MEANS", (self.G + 1) * D * 2).view("<f2").reshape(-1, D)
        _within("a number of MEANS", self.means, -1e6, 1e6)
        decode = self._part("DECODE", 12 * N + 1232).view("<f4")
        self.scales, steps, self.gains, self.votes = np.split(decode, (-308, -272, -16))
        self.steps = np.append(steps, np.array((1, 0), np.float32))  # of letters and words
        _within("a step", steps, -1e6, 1e6)
        _within("a scale, gain or vote", np.delete(decode, np.s_[-308:-272]), 0, 1e6)
        _equal("first of the votes", self.votes[0], 0)
        words = self._part("WORDS", 32 * D * self.K + 2048 * (self.K > 0)).view(np.int8)
        self.words, self.letters = words[:-2048].reshape(-1, 32, D), words[-2048:].reshape(-1, 8)
        self.codes = self._part("CODES", int(self.codes_at[-1]))
        self.slots = self._part("NEIGHBOURS", int(self.slots_at[-1]))
        self._check_neighbours()
        self.map = self._part("MAP", ("MAP" in has) * D * D * 2).view("<f2").reshape(-1, D)
        _within("a number of MAP", self.map, -1e6, 1e6)
        text = max(4 * V + 4, len(has.get("IDS", ()))) if self.id_kind == 3 else 0
        self.ids = _Ids(self.id_kind, V, self._part("IDS", text or 4 * self.id_kind * V))
        whole = max(4, len(has["WITHDRAWN"]) // 4 * 4) if "WITHDRAWN" in has else 0
        self.withdrawn = self._part("WITHDRAWN", whole).view("<u4").astype(np.int64)
        rises = np.diff(self.withdrawn, append=V) > 0
        _check(rises.all(), "WITHDRAWN", "other numbers", f"rising numbers below {V}")

    def _part(self, name: str, length: int) -> Array:
        """A section of this length; where that is 0, there must be none (CODES may be empty)."""
        found = len(self.sections[name]) if name in self.sections else "none"
        _equal(f"length of {name}", found, length if length or name == "CODES" else "none")
        return self.sections.get(name, np.empty(0, dtype=np.uint8))

    def _read_shape(self, raw: Array) -> None:
        """Counts and kinds [2]."""
        fields = struct.unpack("<IHHBBBBHHQ32sQ", raw.tobytes())
        V, G, N, width, id_kind, person, scale, K, zero, trained, catalogue, zero_2 = fields
        _within("number of items", V, 1, min(1 << 26, 8 * self.length))
        _within("number of groups", G, 1, min(V, 4096))
        _within("blocks per item", N, 1, 256)
        _within("lists of words", K, 0, N)
        _within("id kind", id_kind, 0, 3)
        _within("kind of person and vote scale", (person, scale), 0, 1)
        _equal("numbers per block, reserved bytes", (width, zero, zero_2), (8, 0, 0))
        _within("date of the training", trained, 0, 253402300799)
        self.V, self.G, self.N, self.D, self.id_kind, self.person = V, G, N, 8 * N, id_kind, person
        self.K, self.scaled, self.trained = K, scale == 1, trained
        self.hash = catalogue.hex() if any(catalogue) else None
        self.full, self.rest = divmod(max(1, (V - 1).bit_length()), 8)

    def _read_groups(self, raw: Array) -> None:
        """Sizes, depths, neighbours and vote weights of the groups [4]; where their bytes lie."""
        entries = raw[: 16 * self.G].view(GROUP)
        self.depths, self.weights = raw[16 * self.G :].reshape(-1, self.N), entries["weights"]
        self.sizes, self.counts = (entries[name].astype(np.int64) for name in ("size", "count"))
        _within("size of a group", self.sizes, 1, self.V)
        _equal("sum of the sizes", self.sizes.sum(), self.V)
        _within("neighbours per item", self.counts, 0, 64)
        _within("reserved bytes of GROUPS", entries["zero"], 0, 0)
        _within("a vote weight", self.weights, 0, 1e6)
        _within("depth of a block", self.depths, 0, 8)
        self.columns = self.depths.sum(axis=1, dtype=np.int64)
        codes = np.where(self.columns > 0, self.sizes * (1 + self.columns), 0)
        slot = self.full * self.sizes + self.rest * -(-self.sizes // 8) + -(-self.sizes // 2)
        ends = np.cumsum((self.sizes, codes, slot * self.counts), axis=1)
        self.starts, self.codes_at, self.slots_at = np.pad(ends, ((0, 0), (1, 0)))
        self.used = np.unique(np.hstack([_kinds(b, self.K) for b in {*map(bytes, self.depths)}]))

    def matrix(self, g: int) -> Array:
        """Gain bytes, then byte columns, of a group that keeps codes: (1 + columns, items) [6]."""
        return self.codes[self.codes_at[g] : self.codes_at[g + 1]].reshape(-1, self.sizes[g])

    def slot_rows(self, g: int) -> Array:
        """Neighbours of a group, one row of bytes per slot [7]."""
        return self.slots[self.slots_at[g] : self.slots_at[g + 1]].reshape(self.counts[g], -1)

    def neighbours(self, g: int, slot: Array, local: Array) -> tuple[Array, Array]:
        """Numbers and weights in some slots of some items of a group."""
        rows, n, plane = self.slot_rows(g), int(self.sizes[g]), -(-int(self.sizes[g]) // 8)
        flat, at, numbers = rows.ravel(), slot * rows.shape[1], np.zeros(1, dtype=np.int64)
        for f in range(self.full):
            numbers = numbers | flat[at + f * n + local].astype(np.int64) << 8 * f
        at = at + self.full * n
        for r in range(self.rest):
            bits = flat[at + r * plane + local // 8] >> local % 8 & 1
            numbers = numbers | bits << 8 * self.full + r
        return numbers, flat[at + self.rest * plane + local // 2] >> local % 2 * 4 & 15

    def _check_neighbours(self) -> None:
        for g in np.flatnonzero(self.counts).tolist():
            n, rows = int(self.sizes[g]), self.slot_rows(g)
            spare = rows[:, -1].max() >> 4 if n % 2 else 0
            for r in range(1, self.rest + 1 if n % 8 else 1):
                spare |= rows[:, self.full * n + r * -(-n // 8) - 1].max() >> n % 8
            _within("unused bits of NEIGHBOURS", spare, 0, 0)
            for start in range(0, n, 1024):
                local = np.arange(start, min(start + 1024, n))
                numbers, weights = self.neighbours(g, np.arange(len(rows))[:, None], local)
                _within("a neighbour", numbers.max(), 0, self.V - 1)
                _check(not numbers[weights == 0].any(), "an empty slot", "a number", 0)
                _check((weights[1:] <= weights[:-1]).all(), "weights of an item", "a rise", "none")

    def unit(self, number: int) -> Array:
        """The vector of an item [6], divided by its length where that is above 0."""
        g = int(np.searchsorted(self.starts, number, side="right")) - 1
        x: Array = self.means[g].astype(np.float64)
        if self.columns[g]:
            column, t = self.matrix(g)[:, number - self.starts[g]], np.zeros(self.D)
            block, step = np.divmod(_kinds(self.depths[g].tobytes(), self.K), 38)
            for n, v in zip(block[step == 37], column[1:][step == 37], strict=True):
                t += self.words[n, [v & 15, v // 16 + 16]].sum(0, np.float64) * self.scales[3 * n]
            scales = self.steps[step].astype(np.float64) * self.scales[3 * block + 2 - (step == 36)]
            said = np.unpackbits(column[1:, None], axis=1, bitorder="little") * 2.0 - 1
            said[step == 36] = self.letters[column[1:][step == 36]]
            np.add.at(t.reshape(-1, 8), block, scales[:, None] * said)  # in order of planes
            x += t * np.float64(self.gains[column[0]])
        return _unit(x)

    def taste(self, history: Array) -> Array:
        """The vector of a person who is known by a history [10]."""
        if not len(history):
            return np.asarray(self.means[-1], dtype=np.float32)
        u = _unit(sum(map(self.unit, history), np.zeros(self.D)))  # `sum` adds in order
        if len(self.map):
            u = sum((u[j] * row.astype(float) for j, row in enumerate(self.map)), np.zeros(self.D))
        return u.astype(np.float32)

    def server_vector(self, source: Source) -> Array:
        """The person's vector of a file [13]; another model's is refused."""
        raw, D, of = _map(source), self.D, "of the person's vector"
        _equal(f"length {of}", len(raw), 48 + 2 * D)
        magic, version, width, crc, model = struct.unpack("<8sHHI32s", raw[:48].tobytes())
        _equal(f"magic, version and width {of}", (magic, version, width), (b"\x89ELVECTO", 1, D))
        _equal(f"CRC {of}", zlib.crc32(raw[16:].data, zlib.crc32(bytes(raw[:12]) + bytes(4))), crc)
        _equal(f"model {of}", model.hex(), self.model_id)
        _within(f"a number {of}", raw[48:].view("<f2"), -1e6, 1e6)
        return raw[48:].view("<f2").astype(np.float32)


def _unit(x: Array) -> Array:
    """A vector divided by its length, where that is above 0; squares are added in order."""
    length = np.sqrt(np.add.accumulate(x * x)[-1])
    return x / length if length > 0 else x


class _Scorer:
    """Scores of all items for one person [11], a stretch of items at a time."""

    def __init__(self, file: _File, vector: Array, history: Array, by_history: bool) -> None:
        self.file, self.vector, self.history = file, vector, history
        offsets = [np.add.accumulate(row * vector.astype(float))[-1] for row in file.means[:-1]]
        self.offsets = np.array(offsets).astype(np.float32) + np.float32(0)
        root = np.sqrt(np.full(file.G, max(1, len(history)) if file.scaled else 1.0))
        self.weights = (file.weights[:, int(by_history)] / root).astype(np.float32)
        low = (1 << 8 * min(file.full, 2)) - 1
        self.perhaps = np.zeros(low + 1, dtype=bool)  # has a history item these low bits?
        self.perhaps[history & low] = True
        few = len(file.used) * 1024 <= LOOKUPS * 8 + len(file.codes)
        self.look_ups = self._make_look_ups(file.used) if few else []

    def _make_look_ups(self, kinds: Array) -> list[Any]:
        """What each byte adds to a score in a column of each kind: `take` of its table of 256."""
        blocks, steps = np.divmod(kinds, 38)
        w = (self.file.steps[steps] * self.file.scales[3 * blocks + 2 - (steps == 36)])[:, None]
        w, tables = w * self.vector.reshape(-1, 8)[blocks], np.zeros((len(w), 256), np.float32)
        for j in range(8):
            np.add(tables[:, : 1 << j], w[:, j, None], out=tables[:, 1 << j : 2 << j])
            tables[:, : 1 << j] -= w[:, j, None]
        for at in np.flatnonzero(steps == 36).tolist():  # `sum` adds in order
            tables[at] = sum(self.file.letters[:, j] * w[at, j, None] for j in range(8))
        for at in np.flatnonzero(steps == 37).tolist():
            sums = np.add.accumulate(self.file.words[blocks[at]] * self.vector.astype(float), 1)
            said = (sums[:, -1] * self.file.scales[3 * blocks[at]]).astype(np.float32)
            tables[at] = (said[:16] + said[16:, None]).ravel()
        return [table.take for table in tables]

    def stretches(self) -> Iterator[tuple[int, Array]]:
        """First number and scores of each stretch; the next one overwrites the scores."""
        file, longest = self.file, min(STRETCH, int(self.file.sizes.max()))
        scores, buffer = np.empty((2, longest), dtype=np.float32)
        index = np.empty(min(LOOKUPS, longest * (file.columns + file.counts).max()), np.intp)
        for g in np.flatnonzero(file.columns + file.counts).tolist():
            for start in range(0, int(file.sizes[g]), STRETCH):
                t = scores[: min(STRETCH, int(file.sizes[g]) - start)]
                t.fill(0)
                if file.columns[g]:
                    self._add_codes(g, start, t, buffer[: len(t)], index)
                t += self.offsets[g]
                if file.counts[g] and len(self.history):
                    for a in range(0, len(t), most := LOOKUPS // int(file.counts[g])):
                        self._add_votes(g, start + a, t[a : a + most], index)
                yield int(file.starts[g]) + start, t

    def _add_codes(self, g: int, start: int, t: Array, buffer: Array, index: Array) -> None:
        """Leave in `t` what the codes of a stretch say; the order of additions is the page's."""
        matrix = self.file.matrix(g)[:, start : start + len(t)]
        kinds, made = _kinds(self.file.depths[g].tobytes(), self.file.K), self.look_ups
        at = np.searchsorted(self.file.used, kinds).tolist()
        at_once = max(1, min(len(index) // len(t), 64))
        for c in range(0, len(kinds), at_once):
            part, some = matrix[1 + c : 1 + c + at_once], slice(c, c + at_once)
            rows = index[: part.size].reshape(part.shape)
            np.copyto(rows, part)  # `take` wants such indices; several columns at once are quicker
            look_ups = [made[i] for i in at[some]] if made else self._make_look_ups(kinds[some])
            for look_up, row in zip(look_ups, rows, strict=True):
                look_up(row, None, buffer, "wrap")
                t += buffer
        t *= self.file.gains.take(matrix[0])

    def _add_votes(self, g: int, start: int, t: Array, index: Array) -> None:
        """Add to the scores of some items of a group what the history says of them."""
        file, rows, n = self.file, self.file.slot_rows(g), int(self.file.sizes[g])
        low = np.zeros((len(rows), len(t)), dtype=np.uint16)
        for f in reversed(range(min(file.full, 2))):
            low <<= 8
            low |= rows[:, f * n + start : f * n + start + len(t)]
        np.copyto(index[: low.size], low.ravel())
        hits = np.flatnonzero(self.perhaps.take(index[: low.size], mode="wrap"))
        votes = np.zeros(len(t), dtype=np.float32)
        for i in range(0, len(hits), 4096):  # by slot, so that votes add up in their order
            slot, place = np.divmod(hits[i : i + 4096], len(t))
            numbers, weights = file.neighbours(g, slot, place + start)
            known = self.history.take(self.history.searchsorted(numbers), mode="clip") == numbers
            np.add.at(votes, place[known], file.votes[weights[known]])
        t += votes * self.weights[g]

    def why(self, number: int) -> Id | None:
        """The history item whose vote for an item is largest; None where none votes."""
        g = int(np.searchsorted(self.file.starts, number, side="right")) - 1
        if not self.file.counts[g]:
            return None
        slots, local = np.arange(self.file.counts[g]), np.full(1, number - self.file.starts[g])
        numbers, weights = self.file.neighbours(g, slots, local)
        voting = (weights > 0) & np.isin(numbers, self.history)
        best = sorted(zip(-self.file.votes[weights[voting]], numbers[voting], strict=True))
        return self.file.ids[int(best[0][1])] if best else None

    def best(self, k: int, hidden: Array, only: Array | None) -> tuple[Array, Array]:
        """Scores and numbers of the k best items, without hidden and withdrawn ones [12]."""
        if k < 0:
            raise ValueError(f"k: expected 0 or more, got {k}")
        hidden = np.union1d(hidden, self.file.withdrawn)
        scores, numbers, least = np.empty(0, np.float32), np.empty(0, np.int64), -np.inf
        for first, new in self.stretches():
            start, stop = np.searchsorted(hidden, (first, first + len(new)))
            new[hidden[start:stop] - first] = -np.inf
            local = np.flatnonzero(new > least)  # equal ones lose: their numbers are higher
            if only is not None:
                local = local[np.isin(local + first, only)]
            scores = np.concatenate((scores, new[local]))
            numbers = np.concatenate((numbers, local + first))
            if len(scores) > 2 * k:
                least = np.partition(scores, -k)[-k]
                scores, numbers = scores[scores >= least], numbers[scores >= least]
        bits = (scores + np.float32(0)).view(np.int32)  # -0 equals 0
        falls = ~(bits ^ (bits >> 31 & 0x7FFFFFFF)).astype(np.int64)  # rises as scores fall
        order = np.sort(falls << 32 | np.arange(len(falls)))[:k] & 0xFFFFFFFF  # ties by number
        return scores[order], numbers[order]


class Bundle(_File, AbstractContextManager["Bundle"]):
    """An open bundle. Its file stays mapped, so replace it by renaming, never in place."""

    titles: Sequence[str | None] = ()  #: set by `catalogue`

    def close(self, *_: object) -> None:
        """Let go of the file. Ask nothing afterwards."""
        self.__dict__.clear()

    __exit__ = close

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{name!r}: the bundle is closed, or bundles have no such thing")

    def recommend(
        self,
        history: Iterable[Id] = (),
        user: Source | None = None,
        k: int = 20,
        exclude: Iterable[Id] = (),
        only: Iterable[Id] | None = None,
        repeat: bool = False,
        why: bool = False,
    ) -> Recommendations:
        """The k best items for a person, best first, or for most people where nothing is known.

        `history` holds ids of what the person had (unknown ones are skipped and counted), `user` is
        her vector from the server, the path or the bytes of its file. Items of `exclude`, those
        outside `only` and, unless `repeat`, the history are left out. `why` names what speaks most.
        """
        known, unknown = self.ids.find(history)
        hidden = np.union1d(self.ids.find(exclude)[0], known[: 0 if repeat else None])
        chosen = None if only is None else self.ids.find(only)[0]
        vector = self.taste(known) if user is None else self.server_vector(user)
        scorer = _Scorer(self, vector, known, user is None)
        return self._named(scorer, scorer.best(k, hidden, chosen), why, unknown)

    def similar(self, item: Id, k: int = 20) -> Recommendations:
        """The k items nearest to one, best first; LookupError if the bundle does not know it."""
        numbers, unknown = self.ids.find([item])
        if unknown:
            raise LookupError(f"item {item!r}: expected one of the bundle's {self.V:,} items")
        scorer = _Scorer(self, self.unit(numbers[0]).astype(np.float32), numbers, True)
        return self._named(scorer, scorer.best(k, numbers, None), False, 0)

    def _named(self, scorer: _Scorer, listed: Any, why: bool, unknown: int) -> Recommendations:
        answer = Recommendations()
        answer.unknown = unknown
        for score, number in zip(*map(np.ndarray.tolist, listed), strict=True):
            title = self.titles[number] if number < len(self.titles) else None
            because = scorer.why(number) if why else None
            answer.append(Recommendation(self.ids[number], score, title, because))
        return answer

    def catalogue(self, path: Source) -> None:
        """Read titles from the catalogue [14] the bundle was packed with; refuse any other."""
        data = _map(path)
        _equal("SHA-256 of the catalogue", hashlib.sha256(data.data).hexdigest(), self.hash)
        self.titles = json.loads(data.tobytes())["titles"] or ()

    def info(self) -> dict[str, Any]:
        """What the bundle says of itself: counts, kinds, date, model, lengths, writer's notes."""
        kinds, persons = ("dense", "u32", "u64", "strings"), ("history", "vector+history")
        about = {"items": self.V, "groups": self.G, "blocks": self.N, "bytes": self.length}
        about |= {"ids": kinds[self.id_kind], "withdrawn": len(self.withdrawn)}
        about |= {"person": persons[self.person], "trained": self.trained}
        about |= {"model_id": self.model_id, "catalogue_sha256": self.hash, "meta": self.meta}
        return about | {"sections": {name: len(raw) for name, raw in self.sections.items()}}


def open(path: Source, sha256: str | None = None) -> Bundle:  # noqa: A001
    """The bundle of a file that breaks no rule and, where given, has this SHA-256 (in hex)."""
    data = _map(path)
    if sha256 is not None:
        _equal("SHA-256 of the file", hashlib.sha256(data.data).hexdigest(), sha256.lower())
    return Bundle(data)


def _pieces(old: Array, patch: Array, used: int) -> Iterator[Array]:
    """What the operations of an upgrade give, one after the other; `used` bytes of it are read."""
    copied = 0
    for offset, length in struct.iter_unpack("<QQ", patch[96:used].data):
        source, start, least = (patch, used, 0) if offset == ALL else (old, offset, copied)
        inside = 1 <= length <= len(source) - start and start >= least
        _check(inside, "an operation of the upgrade", (offset, length), "one within its file")
        yield source[start : start + length]
        used, copied = (start + length, copied) if offset == ALL else (used, start + length)
    _equal("bytes of the upgrade that are used", used, len(patch))


def apply_patch(old_path: Source, patch_path: Source, new_path: str | os.PathLike[str]) -> None:
    """Write the new bundle that an upgrade [15] makes of an old one, or nothing at all."""
    old, patch = _map(old_path), _map(patch_path)
    _within("length of the upgrade", len(patch), 96, LONGEST)
    head = struct.unpack("<8sHHIQQ32s32s", patch[:96].tobytes())
    magic, version, zero, P, old_length, new_length, old_hash, new_hash = head
    _equal("magic and version of the upgrade", (magic, version, zero), (b"\x89ELPATCH", 1, 0))
    _equal("length of the old file", len(old), old_length)
    _equal("SHA-256 of the old file", hashlib.sha256(old.data).hexdigest(), old_hash.hex())
    _within("length of the upgrade", len(patch), 96 + 16 * P, LONGEST)
    made = sum(map(len, _pieces(old, patch, 96 + 16 * P)))
    _equal("length of what the upgrade makes", made, new_length)
    part = f"{os.fspath(new_path)}.{os.getpid()}.part"
    try:
        with builtins.open(part, "wb") as file:
            file.writelines(piece.data for piece in _pieces(old, patch, 96 + 16 * P))
            os.fsync(file.fileno())
        _equal("SHA-256 of the result", hashlib.sha256(_map(part).data).hexdigest(), new_hash.hex())
        os.replace(part, new_path)
    finally:
        if os.path.exists(part):
            os.remove(part)


def main(words: list[str] | None = None) -> None:
    """Print recommendations from a bundle. Ids are the shop's own, or numbers where dense."""
    parser = argparse.ArgumentParser("python -m elasticrec_device", description=main.__doc__)
    add = parser.add_argument
    add("bundle", help="the .elastic file")
    add("--history", nargs="+", default=[], metavar="ID", help="what the person had, by its ids")
    add("--vector", metavar="FILE", help="the person's vector from the server")
    add("-k", type=int, default=20, metavar="COUNT", help="how many to list (default: 20)")
    add("--exclude", nargs="+", default=[], metavar="ID", help="items not to list")
    add("--why", action="store_true", help="name the history item that speaks most for each")
    add("--catalogue", metavar="FILE", help="the catalogue of the bundle's model: shows titles")
    add("--json", action="store_true", help="print JSON, and what the bundle says of itself")
    args = parser.parse_args(words)
    try:
        with open(args.bundle) as bundle:
            own = str if bundle.info()["ids"] == "strings" else int
            history, exclude = ([own(each) for each in ids] for ids in (args.history, args.exclude))
            if args.catalogue:
                bundle.catalogue(args.catalogue)
            found = bundle.recommend(history, args.vector, args.k, exclude, why=args.why)
            answer = {"items": [item._asdict() for item in found], "unknown": found.unknown}
            if args.json:
                print(json.dumps(answer | {"bundle": bundle.info()}, indent=2))
                return
    except (ValueError, LookupError, OSError) as error:
        parser.exit(2, f"error: {error}\n")
    for place, (name, score, title, why) in enumerate(found, start=1):
        because = "" if why is None else f"  (because of {why})"
        print(f"{place:4} {score:10.4f}  {name}  {title or ''}{because}".rstrip())
    if found.unknown:
        print(f"{found.unknown} ids of the history are unknown", file=sys.stderr)


if __name__ == "__main__":
    main()
