"""Recommendations on a device, from one `.elastic` stream: numpy and the standard library only.

`open("watch.elastic").recommend(history=[12, 94, 7], k=20)` in a program, or in a shell
`python -m elasticrec_device watch.elastic --history 12 94 7 -k 20`. [n]: docs/stream-format.md.
"""

from __future__ import annotations

import argparse
import codecs
import hashlib
import json
import os
import struct
import sys
import threading
import zlib
from collections import Counter, namedtuple
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

try:  # the C runtime, where it is installed: the same lists, sooner
    from elasticrec_device_native import Native
except ImportError:
    Native = None  # type: ignore[assignment, misc]

__version__ = "0.1.0"
NATIVE = Native is not None
Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Source: TypeAlias = Any  # the path of a file (str or os.PathLike), or a buffer that holds its bytes
Id: TypeAlias = int | str
HEAD, CHUNK = struct.Struct("<8s2HI4BI4Q32s32s32s28s4f"), struct.Struct("<I2BH3I12s")
COLUMN, OTHER, MAGIC = struct.Struct("<4H2f"), struct.Struct("<8s2HI"), b"\x89ELASTIC"
FIELDS = """magic version N V id_kind cosine for_vector min_support reserved sequence date least
length model_id catalogue values popularity unit recency by_history by_vector"""
Chunk = namedtuple("Chunk", "length kind width which first count crc link at name")
KINDS = ("", "CODEBOOK", "COLUMNS", "CODES", "NEIGHBOURS", "IDS", "")
TILE = 32_768  # items scored or checked at a time: they stay in the processor's cache
EIGHT = np.unpackbits(np.arange(256, dtype=np.uint8), bitorder="little").view("<u8")  # as bytes
HALVES = np.arange(256, dtype="<u2") & 15 | np.arange(256, dtype="<u2") >> 4 << 8
HIDDEN, ALL = -(1 << 62), (1 << 64) - 1  # the score of what is not to be listed; 64 bits


class StreamError(ValueError):
    """A file that is not what it should be; says what was found and what was expected."""


class Recommendation(NamedTuple):
    """One listed item."""

    id: Id  #: the item's own id
    score: int  #: higher is better; comparable within one list only
    title: str | None = None  #: its title, once `Stream.catalogue` was given one that has it
    why: Id | None = None  #: the history item that votes most for it, if asked for


class Recommendations(list[Recommendation]):
    """Listed items, best first."""

    unknown: int = 0  #: ids of the history that the stream does not know; they were skipped


def _check(what: str, found: object, expected: object, good: object = None) -> None:
    if not (found == expected if good is None else good):
        raise StreamError(f"{what}: found {found}, expected {expected}")


def _within(what: str, found: float, low: float, high: float) -> None:
    _check(what, found, f"{low} to {high}", low <= found <= high)


def _bytes_of(source: Source) -> Array:
    """The bytes of a buffer, or of a file, mapped until the last array that uses it is gone."""
    if isinstance(source, str | os.PathLike) and os.path.getsize(source):
        return np.memmap(source, np.uint8, "r").view(np.ndarray)
    return np.frombuffer(b"" if isinstance(source, str | os.PathLike) else source, np.uint8)


def _check_signature(key: Source, signature: bytes, message: bytes, what: str) -> None:
    """Refuse what a key has not signed [12]; it is 32 bytes, their hex digits, or a file."""
    raw = key.encode() if isinstance(key, str) and len(key) == 64 else _bytes_of(key).tobytes()
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey as Key

        public = Key.from_public_bytes(raw if len(raw) == 32 else bytes.fromhex(raw.decode()))
        public.verify(signature, message)
    except ImportError as error:
        raise ImportError("a key needs the package 'cryptography': install it by pip") from error
    except Exception as error:  # ValueError for what is no key, or InvalidSignature
        found = repr(error) if any(signature) else "none"
        _check(f"signature of {what}", found, "one by the key", good=False)


def _read_other(source: Source, what: str, head: Any, *expected: object) -> bytes:
    """A vector, or a list of withdrawn items, whose first 48 bytes are right [9, 10]."""
    raw = _bytes_of(source).tobytes()
    _check(f"length of {what}", len(raw), "at least 48", len(raw) >= 48)
    *found, crc = OTHER.unpack_from(raw)
    _check(f"magic, version, D of {what}", found, [*expected])
    _check(f"CRC-32 of {what}", zlib.crc32(raw[16:], zlib.crc32(raw[:12] + bytes(4))), crc)
    _check(f"model id of {what}", raw[16:48].hex(), head.model_id.hex())
    return raw


def _read_head(data: Array, key: Any, min_sequence: int) -> Any:
    """The fields of a checked head [1], and what follows from them."""
    raw, have = data[:788].tobytes(), f"{len(data)} bytes"
    _check("magic", raw[:8], MAGIC, raw[:8] == MAGIC[: len(raw)])
    version, N, least = struct.unpack_from("<8x2H28xQ", raw.ljust(48, b"\0"))
    _check("version", version, "4, the one this runtime reads", len(raw) < 10 or version == 4)
    _check("blocks (N)", N, "1 to 64", len(raw) < 12 or 1 <= N <= 64)
    size, end = 276 + 8 * N, 272 + 8 * N
    enough = f"at least {max(least if len(raw) >= 48 else 0, size)} bytes (least)"
    _check("length", have, enough, len(raw) >= max(size, 284))
    head = argparse.Namespace(**dict(zip(FIELDS.split(), HEAD.unpack_from(raw), strict=True)))
    _check("CRC-32 of the head", zlib.crc32(raw[:end]), *struct.unpack_from("<I", raw, end))
    lows = {"V": 1, "sequence": min_sequence, "least": size + 33, "length": least}
    highs = min(least, 1 << 26), 3, 1, 1, 255, 0, ALL, 253402300799, ALL, 1 << 40, *[1e9] * 4
    for name, high in zip(FIELDS.split()[3:13] + FIELDS.split()[-4:], highs, strict=True):
        _within(f"{name} in the head", vars(head)[name], lows.get(name, 0), high)
    head.values = np.frombuffer(head.values, "<u2").astype(np.float64)
    rise = head.values[0] == 0 and (np.diff(head.values) >= 0).all()
    _check("values of the votes", head.values.tolist(), "0 first, and no fall", rise)
    head.D, head.size, head.person = 8 * N, size, np.frombuffer(raw, np.int8, 8 * N, 196)
    head.popularity = np.frombuffer(head.popularity, np.uint8).astype(np.float64)
    head.full, head.rest, head.link = *divmod(len(f"{head.V - 1:b}"), 8), raw[size - 80 : size - 68]
    if key is not None:
        _check_signature(key, raw[size - 68 : size - 4], raw[: size - 68], "the head")
    _check("length", have, enough, len(data) >= least)
    return head


class _Arrived:
    """All complete chunks of a stream, checked [2 to 5], and lists from them [6 to 8]."""

    def __init__(self, data: Array, key: Any, min_sequence: int) -> None:
        self.key, self.head = key, (head := _read_head(data, key, min_sequence))
        self.end, self.n_chunks, self.link, self.useful = head.size, 0, head.link, False
        self.filled, self.codebooks, self.columns = 32, list[Array](), list[tuple[int, int, int]]()
        self.about = [[0.0, head.by_history, head.by_vector]]  # gain, weights: 0, 1, ... columns
        self.cover, self.used = np.zeros(head.N + 1, np.int64), 0  # scales, widths; columns in use
        self.n_columns, self.gain = np.zeros((2, head.V), np.uint16)  # of items; 1 + g, 0: not yet
        self.n_slots, self.falls = np.zeros((2, head.V), np.uint8)  # of items; 15 - the last vote
        # By tile, rows of CODES and of NEIGHBOURS: column or slot, first, end, skip, at, count.
        self.rows, self.tables = dict[int, tuple[list[Any], list[Any]]](), dict[int, list[Array]]()
        self.changed, self.new_ids, self.n_ids = set[int](), list[tuple[Any, Array]](), 0
        self.own = self.marks = np.empty(0, np.uint64)  # ids, or start << 16 | bytes; or hashes
        self.order, self.text = np.empty(0, np.int64), head.id_kind == 3
        self.read(data)

    def read(self, data: Any) -> None:
        """Take in further complete chunks of a buffer that may have grown."""
        self.data, length, least = data, self.head.length, self.head.least
        while len(raw := data[self.end : self.end + 32].tobytes()) == 32:
            stop = self.end + 32 + int.from_bytes(raw[:4], "little")
            _within(f"end of chunk {self.n_chunks}", stop, 0, length)
            if stop > len(data):
                break
            self._read_chunk(raw, stop)
        good = self.end == len(data) or self.end + 32 <= length
        _check(f"start of chunk {self.n_chunks}", self.end, f"at most {length - 32}", good)
        _check("least", least, "the end of a chunk", self.useful)
        if self.new_ids:
            self._read_ids()

    def _read_chunk(self, raw: bytes, stop: int) -> None:
        head, name = self.head, f"chunk {self.n_chunks} ({KINDS[min(raw[4], 6)]})"
        c = Chunk._make((*CHUNK.unpack(raw), self.end + 32, name))
        kind, n, payload = c.kind - 1, c.count, self.data[c.at : stop]
        found = zlib.crc32(payload, zlib.crc32(raw[:16] + bytes(4) + raw[20:]))
        _check(f"CRC-32 of {name}", found, c.crc)
        if self.key is not None:
            digest = hashlib.sha256(self.data[self.end : stop]).hexdigest()
            _check(f"link to {name}", self.link.hex(), digest[:24])
            _check(f"link of {name}, the last", c.link.hex(), "0" * 24, stop < head.length or None)
        _within(f"start of {name}", self.end, 4096 * (self.n_chunks - 1024), head.length)
        _within(f"kind of {name}", c.kind, 1, 5)
        _within(f"width of {name}", c.width, kind == 0, head.N if kind == 0 else 0)
        _within(f"which of {name}", c.which, 0, (63, 1023, len(self.columns) - 1, 63, 0)[kind])
        new = (len(self.codebooks) - (self.filled < 32), self.filled % 32), (len(self.columns), 0)
        expected = (*new, (c.which, c.first), (c.which, c.first), (0, self.n_ids))[kind]
        _check(f"which and first of {name}", (c.which, c.first), expected)
        known = self.n_ids if head.id_kind else head.V
        most = (32, 1024 - c.which, known, known, head.V)[kind] - c.first
        _within(f"count of {name}", n, 1, most)
        slot = head.full * n + head.rest * -(-n // 8) + -(-n // 2)
        ids = (0, 4 * n, 8 * n, max(c.length, 3 * n))[head.id_kind]
        _check(f"length of {name}", c.length, (8 * c.width * n, 16 * n, n, slot, ids)[kind])
        if kind == 0:
            if self.filled == 32:
                self.codebooks.append(np.zeros((32, 8 * c.width), dtype=np.int8))
            last, self.filled = self.codebooks[-1], c.first + n
            _check(f"width of {name}", c.width, last.shape[1] // 8)
            last[c.first : self.filled] = payload.view(np.int8).reshape(n, -1)
        elif kind == 1:
            self._read_columns(c, payload)
        elif kind < 4:
            self._read_items(c, payload)
        else:
            _within(f"id kind of a stream with {name}", head.id_kind, 1, 3)
            self.new_ids.append((c, payload))
            self.n_ids += n
        self.end, self.link, self.n_chunks = stop, c.link, self.n_chunks + 1
        self.useful |= stop == head.least

    def _read_columns(self, c: Any, raw: Any) -> None:
        for book, block, scale, gain, *weights in COLUMN.iter_unpack(raw):
            _within(f"codebook in {c.name}", book, 0, len(self.codebooks) - 1 - (self.filled < 32))
            width, good = self.codebooks[book].shape[1] // 8, all(0 <= w <= 1e9 for w in weights)
            _within(f"first block in {c.name}", block, 0, self.head.N - width)
            _within(f"scale in {c.name}", scale, 1, 16384)
            _within(f"gain in {c.name}", gain, 1, 32768)
            _check(f"weights in {c.name}", weights, "0 to 10^9", good)
            self.cover[[*range(block, block + width), -1]] += [*[scale] * width, width - 1]
            _within(f"sum of a block's scales in {c.name}", self.cover.max(), 1, 16384)
            _within(f"widths, less 1, up to {c.name}", self.cover[-1], 0, 16 * self.head.N)
            self.columns.append((book, 8 * block, scale))  # codebook, first number, scale
            self.about.append([gain / 32768, *weights])

    def _read_items(self, c: Any, raw: Array) -> None:
        n, end, votes = c.count, c.first + c.count, c.kind == 4  # else CODES
        counts = (self.n_slots if votes else self.n_columns)[c.first : end]
        found, what = [int(counts.min()), int(counts.max())], "slots" if votes else "columns"
        _check(f"fewest and most {what} of an item before {c.name}", found, [c.which] * 2)
        if votes:
            full, ends = self.head.full, np.arange(1, self.head.rest + 1) * (n + 7 >> 3)
            bits = raw[full * n + ends - 1] >> n % 8 if n % 8 else ends[:0]
            good = not bits.any() and not (n % 2 and raw[-1] >> 4)
            _check(f"unused bits of {c.name}", "some that are set", "zeros", good)
            for start in range(0, n, TILE):
                numbers, new = self.spread(start, min(start + TILE, n), 0, c.at, n)
                _within(f"a neighbour in {c.name}", numbers.max(), 0, self.head.V - 1)
                _within(f"number of an empty slot in {c.name}", (numbers * (new == 0)).max(), 0, 0)
                good = (15 - new >= (old := self.falls[c.first + start :][: len(new)])).all()
                _check(f"votes of an item up to {c.name}", "a rise", "none", good)
                old[:] = 15 - new
        else:
            self.gain[c.first : end], self.used = 0, max(self.used, c.which + 1)
        counts += 1
        for tile in range(c.first // TILE, -(-end // TILE)):
            skip = tile * TILE - c.first
            row = c.which, max(0, -skip), min(TILE, n - skip), skip, c.at, n
            self.rows.setdefault(tile, ([], []))[votes].append(row)
            self.changed.add(tile)

    def look(self, rows: Array, local: Any) -> tuple[Array, Array]:
        """Neighbours and votes of items of a tile [4], each by the row that has it."""
        (skip, at, count), full = rows[:, 3:].T, self.head.full
        numbers, item, size = np.zeros(len(rows), np.int64), local + skip, count + 7 >> 3
        for f in range(full):
            numbers |= self.data[at + f * count + item].astype(np.int64) << 8 * f
        at = at + full * count
        for r in range(self.head.rest):
            numbers |= (self.data[at + r * size + (item >> 3)] >> (item & 7) & 1) << 8 * full + r
        return numbers, self.data[at + self.head.rest * size + (item >> 1)] >> (item & 1) * 4 & 15

    def spread(self, a: int, b: int, skip: int, at: int, count: int) -> tuple[Array, Array]:
        """The same of all items of a row, which is faster."""
        numbers, a, b = np.zeros(b - a, "<i8"), a + skip, b + skip
        full, size = self.head.full, count + 7 >> 3
        rows, bits = numbers.view(np.uint8), np.zeros((b + 7 >> 3) - (a >> 3), "<u8")
        for f in range(full):
            rows[f::8] = self.data[at + f * count :][a:b]
        at += full * count
        for r in range(self.head.rest):
            bits |= EIGHT.take(self.data[at + r * size :][a >> 3 : b + 7 >> 3]) << np.uint64(r)
        rows[full::8] = bits.view(np.uint8)[a & 7 :][: b - a]
        votes = HALVES.take(self.data[at + self.head.rest * size :][a >> 1 : b + 1 >> 1])
        return numbers, votes.view(np.uint8)[a & 1 :][: b - a]

    def _read_ids(self) -> None:
        """The ids of new chunks [5], none of them twice."""
        own, width = [self.own], (0, 4, 8, 2)[self.head.id_kind]
        for c, raw in self.new_ids:
            words = raw[: width * c.count].view(f"<u{width}").astype(np.uint64)
            if self.text:
                ends, text = np.cumsum(words), raw[2 * c.count :]
                good = words.all() and ends[-1] == len(text)
                _check(f"lengths of ids in {c.name}", ends[-1], f"{len(text)}, none 0", good)
                inner = np.count_nonzero(text[ends - words] & 0xC0 == 0x80)  # first bytes
                parts = (text[at : at + TILE].tobytes() for at in range(0, len(text), TILE))
                sound = (part.encode() for part in codecs.iterdecode(parts, "utf-8", "ignore"))
                _check(f"bytes of UTF-8 in {c.name}", sum(map(len, sound)) - inner, len(text))
                words |= (ends - words + np.uint64(c.at + 2 * c.count)) << np.uint64(16)
            own.append(words)
        self.new_ids, self.own = [], np.concatenate(own)
        marks = [hash(self.id(i)) & ALL for i in range(self.n_ids)] if self.text else self.own
        self.marks = np.array(marks, np.uint64)
        self.order = np.argsort(self.marks, kind="stable")
        same = np.flatnonzero(np.diff(self.marks[self.order]) == 0)
        alike = [*map(self.id, np.union1d(self.order[same], self.order[same + 1]).tolist())]
        _check("IDS", "an id twice", "each id once", len({*alike}) == len(alike))

    def id(self, number: int) -> Any:
        """The id of an item that has one."""
        if self.head.id_kind < 3:
            return int(self.own[number]) if self.head.id_kind else number
        start, length = divmod(int(self.own[number]), 1 << 16)
        return self.data[start : start + length].tobytes().decode()

    def find(self, ids: Any, what: str) -> tuple[Array, int]:
        """The numbers of ids, and how many do not occur."""
        kind, types = ("whole numbers", "text")[self.text], str if self.text else (int, np.integer)
        if isinstance(ids, str | bytes | bytearray | memoryview) or not isinstance(ids, Iterable):
            raise TypeError(f"{what}: found {ids!r:.60}, expected a list of ids ({kind})")
        for each in (ids := list(ids)):
            if not isinstance(each, types) or isinstance(each, bool):
                raise TypeError(f"{what}: found the id {each!r:.60}, expected {kind}")
        numbers = [] if self.head.id_kind else [int(x) for x in ids if 0 <= x < self.head.V]
        others = ids if self.head.id_kind else []
        able = [hash(x) & ALL if self.text else int(x) if 0 <= x <= ALL else 0 for x in others]
        starts = np.searchsorted(self.marks, np.array(able, np.uint64), "left", self.order)
        stops = np.searchsorted(self.marks, np.array(able, np.uint64), "right", self.order)
        for start, stop, each in zip(starts, stops, others, strict=True):
            numbers += [n for n in self.order[start:stop].tolist() if self.id(n) == each]
        return np.array(numbers, dtype=np.int64), len(ids) - len(numbers)

    def settle(self) -> None:
        """Sort the rows of the tiles that have changed, and find the factors of new items [7.3]."""
        for tile in self.changed:
            rows = [np.array(sorted(each), np.int64).reshape(-1, 6) for each in self.rows[tile]]
            some, self.tables[tile] = slice(tile * TILE, (tile + 1) * TILE), rows
            new = (self.gain[some] == 0) & (self.n_columns[some] + self.n_slots[some] > 0)
            new, step = tile * TILE + np.flatnonzero(new), (1 << 18) // max(self.head.D, self.used)
            for items in np.split(new, range(step, len(new), step)):
                gain = self.head.popularity[np.searchsorted(1 << np.arange(28), items + 1, "right")]
                if self.head.cosine:
                    lengths = np.where((each := self.vectors(items)[1]) > 0, each, np.inf)
                    gain *= self.head.unit * np.array(self.about)[self.n_columns[items], 0]
                    gain = np.minimum(255, np.floor(gain / lengths + 0.5))
                self.gain[items] = 1 + gain
        self.changed.clear()

    def vectors(self, items: Array) -> tuple[Array, Array]:
        """The vectors y [3] of items that rise, (n, D) whole numbers, and their lengths."""
        y = np.zeros((len(items), self.head.D), dtype=np.int32)
        for tile in np.unique(items // TILE).tolist():
            table, local = self.tables[tile][0], items - tile * TILE
            starts, stops = np.searchsorted(local, table[:, 1:3].T)
            row = np.repeat(np.arange(len(table)), n := stops - starts)
            at = np.arange(len(row)) + np.repeat(starts - np.cumsum(n) + n, n)
            codes = self.data[local[at] + (table[:, 3] + table[:, 4])[row]]
            edges = np.searchsorted(table[:, 0][row], range(self.used + 1)).tolist()
            for (codebook, f, scale), (a, b) in zip(self.columns, pairwise(edges), strict=False):
                words, code = self.codebooks[codebook] * np.int32(scale), codes[a:b]
                apart = b == a or at[b - 1] - at[a] >= b - a
                which = at[a:b] if apart else slice(at[a], at[b - 1] + 1)
                if b - a > 512:
                    said = (words[16:, None] + words[:16]).reshape(256, -1).take(code, axis=0)
                else:
                    said = words.take(code & 15, axis=0) + words[16:].take(code >> 4, axis=0)
                y[which, f : f + words.shape[1]] += said
        return y, np.sqrt(np.einsum("ij,ij->i", y, y, dtype=np.float64))  # exact: up to 2^53

    def history_vector(self, history: Array) -> Array:
        """The vector p [6] of a person who is known by a history, the oldest first."""
        p, heard = np.zeros(self.head.D), np.flatnonzero(self.n_columns[history])
        for some in np.split(heard, range(256, len(heard), 256)):
            each, back = np.unique(history[some], return_inverse=True)
            y, lengths = (rows[back] for rows in self.vectors(each))
            for row, age, length in zip(y, len(history) - 1 - some, lengths, strict=True):
                p += row * ((1 / (1 + self.head.recency * age)) / length) if length > 0 else 0
        return p if len(heard) else self.head.person.astype(np.float64)

    def server_vector(self, source: Source) -> Array:
        """The vector p that a person's file [9] holds."""
        head, what = self.head, "the person's vector"
        raw = _read_other(source, what, head, b"\x89ELVECTO", 2, head.D)
        _check(f"length of {what}", len(raw), 48 + 2 * head.D)
        vector = np.frombuffer(raw, "<f2", offset=48).astype(np.float64)
        _check(f"a number of {what}", "one that is not", "finite ones", np.isfinite(vector).all())
        return vector

    def person(self, p: Array, history: Array, kind: int) -> tuple[Array, Array, Array, Array]:
        """What bytes of columns and votes add; the history by items and by their low bytes [7]."""
        head, m, A = self.head, np.abs(p).max(), np.zeros((self.used, 32))
        q = np.floor((p / m) * 32767 + 0.5) if m > 0 else np.zeros(head.D)
        for c, (codebook, f, scale) in enumerate(self.columns[: self.used]):
            words = self.codebooks[codebook].astype(np.float64)
            A[c] = scale * (words @ q[f : f + words.shape[1]])  # whole numbers: exact
        M = np.abs(A).max(initial=0)
        t = (np.floor((A * 32767) / M + 0.5) if M > 0 else A).astype(np.int32)
        tables = (t[:, 16:, None] + t[:, None, :16]).reshape(-1, 256)
        rho = (np.sqrt(np.sum(q * q)) * (32767 / M)) * (head.unit * 128) if M > 0 else 2.0**20
        weights = np.array(self.about)[: self.used + 1, 1 + kind] / np.sqrt(max(1, len(history)))
        worth = np.floor(np.minimum((weights * rho)[:, None] * head.values, 2.0**40) + 0.5)
        known, low = np.zeros(head.V, dtype=bool), np.zeros(1 << 8 * min(2, head.full), dtype=bool)
        known[history] = low[history & len(low) - 1] = True
        return tables, worth.astype(np.int64), known, low

    def _runs(self, tile: int, kind: int, n: int, index: Array) -> Iterator[tuple[int, slice]]:
        """Column or slot, and items, of each run of rows; n bytes of each go to `index` before."""
        rows, start, low = self.tables[tile][kind].tolist(), -1, index.view(np.uint8)
        for (which, a, b, skip, offset, count), after in pairwise([*rows, [-1] * 6]):
            start, at = a if start < 0 else start, offset + skip
            index[a:b] = self.data[at + a : at + b] if n else 0
            if n > 1:
                low[8 * a + 1 : 8 * b : 8] = self.data[at + count + a : at + count + b]
            if after[:2] != [which, b]:
                yield which, slice(start, b)
                start = -1

    def scores(self, tile: int, person: tuple[Array, Array, Array, Array]) -> Array:
        """The scores of a tile's items [7]; HIDDEN for those that are not listable."""
        base, (tables, worth, known, low) = tile * TILE, person
        gain, table = self.gain[base : base + TILE], self.tables[tile][1]
        (total, added), index = np.zeros((2, len(gain)), np.int32), np.zeros(len(gain), "<i8")
        for column, some in self._runs(tile, 0, 1, index):
            tables[column].take(index[some], None, added[some], "wrap")
            total[some] += added[some]
        scores, keys = total * (gain.astype(np.int64) - 1), table[:, 0] * TILE + table[:, 1]
        levels, full = self.n_columns[base : base + TILE].astype(np.int64) * 16, self.head.full
        for slot, some in self._runs(tile, 1, min(2, full), index) if low.any() else ():
            hits: Any = some.start + np.flatnonzero(low.take(index[some], mode="wrap"))
            if len(hits) * (16 if full > 1 else 4) < some.stop - some.start:
                rows = table[np.searchsorted(keys, slot * TILE + hits, side="right") - 1]
                numbers, votes = self.look(rows, hits)
            else:  # all of them, which takes as long as a few
                at, hits = slot * TILE + np.array([some.start, some.stop]), some
                each = [self.spread(*row[1:]) for row in table[slice(*np.searchsorted(keys, at))]]
                numbers, votes = map(np.concatenate, zip(*each, strict=True))
            scores[hits] += worth.take(levels[hits] + votes * known.take(numbers))
        return np.where(gain == 0, HIDDEN, scores)

    def why(self, item: int, known: Array) -> int | None:
        """The history item that votes most for an item [8]."""
        table, local = self.tables[item // TILE][1], item % TILE
        numbers, votes = self.look(table[(table[:, 1] <= local) & (local < table[:, 2])], local)
        voting = numbers[(votes > 0) & known[numbers]]
        return int(voting[0]) if len(voting) else None

    def best(self, person: Any, k: int, hidden: Array) -> list[list[int]]:
        """Numbers and scores of the k best items that are not hidden [8]."""
        items, scores, least = np.empty(0, np.int64), np.empty(0, np.int64), HIDDEN
        for tile in sorted(self.tables) if k else ():
            base, new = tile * TILE, self.scores(tile, person)
            new[hidden[base : base + TILE]] = HIDDEN
            local = np.flatnonzero(new > least)  # equal ones lose: their numbers are higher
            items, scores = np.append(items, local + base), np.append(scores, new[local])
            if len(scores) > k:
                least = np.partition(scores, -k)[-k]
                items, scores = items[scores >= least], scores[scores >= least]
        order = np.argsort(-scores, kind="stable")[:k]
        return [items[order].tolist(), scores[order].tolist()]

    def varied(self, found: list[list[int]], k: int, diversity: float) -> list[list[int]]:
        """Of items and scores, best first, k that differ from those above them, too [8]."""
        self.settle()
        items, scores = (np.array(each, dtype=np.int64) for each in found)
        each, back = np.unique(items, return_inverse=True)
        y, lengths = (rows[back].astype(np.float64) for rows in self.vectors(each))
        r = (scores - scores[-1:]) / np.maximum(1, scores[:1] - scores[-1:])
        s, chosen = np.zeros(len(items)), list[int]()
        for _ in items[:k]:
            value = (1 - diversity) * r - diversity * s
            value[chosen] = -np.inf
            chosen.append(one := int(np.argmax(value)))
            s = np.maximum(s, (y @ y[one]) / np.maximum(1, lengths * lengths[one]))
        return [items[chosen].tolist(), scores[chosen].tolist()]


class Stream(AbstractContextManager["Stream"]):
    """The stream of a file, or of a prefix of one, verified by the publisher's public key if given.

    A `key` is 32 bytes, hex, or a file of either. The file may grow; replace it by renaming only.
    """

    def __init__(self, source: Source, key: Source | None = None, min_sequence: int = 0) -> None:
        self._lock, self._source, self._titles = threading.RLock(), source, ()
        self._key, self._withdrawn, self._gone = key, np.empty(0, np.uint32), b""
        self._native: Any = None
        self._all = _Arrived(_bytes_of(source), key, min_sequence)

    def close(self, *_: object) -> None:
        """Let go of the file. Ask nothing afterwards."""
        self.__dict__.clear()

    __exit__ = close

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{name!r}: the stream is closed, or streams have no such thing")

    @property
    def ids(self) -> Sequence[Id]:
        """The ids that have arrived, in item order."""
        items = range(self._all.n_ids if self._all.head.id_kind else self._all.head.V)
        return list(map(self._all.id, items)) if self._all.head.id_kind else items

    def refresh(self, more: Source | None = None) -> int:
        """Take in what has arrived (`more`: all bytes, if not a file); says how many are used."""
        with self._lock:
            self._native = None
            old, source = self._all.data[: self._all.end], self._source if more is None else more
            data = _bytes_of(source)
            _check("bytes from before", "others", "the same", np.array_equal(data[: len(old)], old))
            try:
                self._all.read(data)
            except StreamError:
                self._all = _Arrived(old, self._key, 0)
                raise
            self._source = source
            return int(self._all.end)

    def recommend(
        self, history: Iterable[Id] = (), vector: Source | None = None, k: int = 20,
        exclude: Iterable[Id] = (), only: Iterable[Id] | None = None, repeat: bool = False,
        why: bool = False, diversity: float = 0,
    ) -> Recommendations:  # fmt: skip
        """The k best items for a person, best first, or for most people where nothing is known.

        `history` is the person's, newest last; of an id given twice the last counts; unknown ones
        are counted. `vector` is the person's file from a server. Left out are items of `exclude`,
        those outside `only`, and the history unless `repeat`. `diversity`, 0 to 1: how they differ.
        """
        if not 0 <= diversity <= 1:
            raise TypeError(f"diversity: found {diversity!r}, expected a number from 0 to 1")
        if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 0:
            raise TypeError(f"k: found {k!r}, expected a whole number, 0 or more")
        with self._lock:
            every, find, found = self._all, self._all.find, Recommendations()
            (given, found.unknown), k = find(history, "history"), min(k, every.head.V)
            known = np.array([*dict.fromkeys(given[::-1].tolist())][::-1], dtype=np.int64)
            shown = None if only is None else find(only, "only")[0]
            without, many = find(exclude, "exclude")[0], 5 * k if diversity else k
            raw = b"" if vector is None else _bytes_of(vector).tobytes()
            p = None if vector is None else every.server_vector(raw)
            if NATIVE and every.end < 1 << 32:
                self._native = self._native or Native(every.data[: every.end], self._gone)
                *listed, votes = self._native.best(known, raw, k, without, shown, repeat, diversity)
            else:
                hidden = (np.zeros if shown is None else np.ones)(every.head.V, dtype=bool)
                hidden[() if shown is None else shown] = False
                hidden[without] = hidden[self._withdrawn] = True
                hidden[known[: 0 if repeat else None]] = True
                every.settle()
                p = every.history_vector(known) if p is None else p
                person = every.person(p, known, int(vector is not None))
                listed = every.best(person, many, hidden)
                listed = every.varied(listed, k, diversity) if diversity else listed
                votes = [every.why(item, person[2]) if why else None for item in listed[0]]
            for item, score, by in zip(*listed, votes, strict=True):
                title = self._titles[item] if item < len(self._titles) else None
                because = None if not why or by is None else every.id(by)
                found.append(Recommendation(every.id(item), score, title, because))
        return found

    def similar(self, item: Id, k: int = 20) -> Recommendations:
        """The k items nearest to one, best first; LookupError if the stream does not know it."""
        if (found := self.recommend([item], k=k)).unknown:
            raise LookupError(f"item: found {item!r}, expected one of {len(self.ids):,} ids")
        return found

    def withdraw(self, source: Source) -> None:
        """Never list the items of a file [10] of withdrawn ones; the next file replaces it."""
        head, of = self._all.head, "the withdrawn items"
        raw = _read_other(source, of, head, b"\x89ELWITHD", 1, 0)
        whole = len(raw) >= 120 and len(raw) % 4 == 0
        _check(f"length of {of}", len(raw), "120, and 4 for each item", whole)
        if self._key is not None:
            message = raw[:12] + bytes(4) + raw[16:56] + bytes(64) + raw[120:]
            _check_signature(self._key, raw[56:120], message, of)
        items = np.frombuffer(raw, "<u4", offset=120)
        rise = (items[1:] > items[:-1]).all() and (items[-1:] < head.V).all()
        _check(of, "other numbers", f"rising ones below {head.V}", rise)
        with self._lock:
            self._withdrawn, self._gone, self._native = items, raw, None

    def catalogue(self, source: Source) -> None:
        """Read titles from the catalogue [11] of the stream's model; refuse any other."""
        raw, head = _bytes_of(source).tobytes(), self._all.head
        _check("SHA-256 of the catalogue", hashlib.sha256(raw).hexdigest(), head.catalogue.hex())
        try:
            found = json.loads(raw.decode(), parse_constant=int)  # int refuses NaN
            kind, ids, titles = map(found.pop, ("id_kind", "ids", "titles"))
            good = found == {"format": "elasticrec catalogue 1", "model_id": head.model_id.hex()}
            good &= {type(ids), type(texts := ids if titles is None else titles)} == {list}
            good &= {*map(type, ids)} <= {str} and {*map(type, texts)} <= {str, type(None)}
            good &= len(ids) == len(texts) == head.V and kind in ("integer", "text")
            _check("catalogue", "other JSON", "that of section 11", good)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise StreamError("catalogue: found other JSON, expected that of section 11") from error
        self._titles = titles or ()

    def info(self) -> dict[str, Any]:
        """What the stream is: counts, bytes, kinds, date, model, and the levels of its items."""
        with self._lock:
            every, head, levels = self._all, self._all.head, Counter[tuple[int, int]]()
            for tile in every.rows:
                some = slice(tile * TILE, (tile + 1) * TILE)
                both = every.n_columns[some].tolist(), every.n_slots[some].tolist()
                levels.update(zip(*both, strict=True))
            del levels[0, 0]
            about = {"items": head.V, "listable": levels.total(), "min_support": head.min_support}
            about |= {"ids": ("dense", "u32", "u64", "text")[head.id_kind], "bytes": every.end}
            about |= {"length": head.length, "complete": every.end == head.length}
            about |= {"fraction": every.end / head.length, "model_id": head.model_id.hex()}
            about |= {"person": ("history", "vector and history")[head.for_vector]}
            about |= {"sequence": head.sequence, "trained": f"{np.datetime64(head.date, 's')}Z"}
            keys, rows = ("columns", "slots", "items"), sorted(levels.items(), reverse=True)
            return about | {"levels": [dict(zip(keys, (*c, n), strict=True)) for c, n in rows]}


open = Stream  # noqa: A001


def main(words: list[str] | None = None) -> None:
    """Print recommendations from a stream. Ids are the shop's own, or numbers where dense."""
    parser = argparse.ArgumentParser("python -m elasticrec_device", description=main.__doc__)
    add = parser.add_argument
    add("stream", help="the .elastic file, or as much of it as has arrived")
    add("--history", nargs="+", default=[], metavar="ID", help="what the person had, newest last")
    add("--vector", metavar="FILE", help="the person's vector from the server")
    add("-k", type=int, default=20, metavar="COUNT", help="how many to list (default: 20)")
    add("--exclude", nargs="+", default=[], metavar="ID", help="items not to list")
    add("--diversity", type=float, default=0, metavar="SHARE", help="how much items differ: to 1")
    add("--why", action="store_true", help="name the history item that votes most for each")
    add("--catalogue", metavar="FILE", help="the catalogue of the stream's model: shows titles")
    add("--withdrawn", metavar="FILE", help="items that are never listed")
    add("--key", metavar="KEY", help="the publisher's public key, in hex or a file: verifies")
    add("--json", action="store_true", help="print JSON, and what the stream is")
    args = parser.parse_args(words)
    try:
        with open(args.stream, args.key) as stream:
            for read, path in (stream.catalogue, args.catalogue), (stream.withdraw, args.withdrawn):
                _ = path and read(path)
            about = stream.info()
            own: Any = str if about["ids"] == "text" else int
            history, exclude = (list(map(own, ids)) for ids in (args.history, args.exclude))
            asked = {"why": args.why, "diversity": args.diversity}
            found = stream.recommend(history, args.vector, args.k, exclude, **asked)
    except (ValueError, TypeError, OSError, ImportError) as error:
        parser.exit(2, f"error: {error}\n")
    if args.json:
        answer = {"items": [item._asdict() for item in found], "unknown": found.unknown}
        print(json.dumps(answer | {"stream": about}, indent=2))
        return
    for place, (name, score, title, why) in enumerate(found, start=1):
        because = "" if why is None else f"  (because of {why})"
        print(f"{place:4} {score:14}  {name}  {title or ''}{because}".rstrip())
    if found.unknown:
        print(f"{found.unknown} ids of the history are unknown", file=sys.stderr)


if __name__ == "__main__":
    main()
