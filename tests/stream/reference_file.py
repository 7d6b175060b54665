"""Reading and checking a bundle, straight from docs/bundle-format.md: the slow reader's first half.

Numbers in comments are sections of the page.
"""

import json
import math
import struct
import zlib
from itertools import pairwise

import numpy as np

f32 = np.float32


class RefusedError(ValueError):
    """The file breaks a rule of the page."""


def need(condition, words):
    if not condition:
        raise RefusedError(words)


def zeros(part, words):
    need(not any(part), f"{words}: a byte that is not 0, expected padding")


def numbers(code, part):
    """All numbers of a section, of one struct code."""
    return [value for (value,) in struct.iter_unpack("<" + code, part)]


def finite(values, words, least=-1e6):
    for value in values:
        need(math.isfinite(value) and abs(value) <= 1e6, f"{words}: {value}, expected finite")
        need(value >= least, f"{words}: {value}, expected {least} or more")
    return values


class ReferenceFile:
    """A bundle that keeps every rule; attributes carry the page's names."""

    def __init__(self, file):
        self.file = file
        self._prefix()
        self._shape()
        self._groups()
        self._decode()
        self._codes()
        self._neighbours()
        self._rest()

    # 1
    def _prefix(self):
        file = self.file
        need(len(file) >= 64, f"{len(file)} bytes, expected a prefix of 64")
        magic, version, zero, S, length, crc, zero2 = struct.unpack_from("<8sHHIQII", file)
        need(magic == b"\x89ELASTIC", f"magic {magic!r}")
        need(version == 3, f"version {version}, expected 3")
        need(zero == 0 and zero2 == 0, "reserved bytes of the prefix are not 0")
        need(6 <= S <= 11, f"{S} sections, expected 6 to 11")
        need(length == len(file), f"length {length}, but the file has {len(file)} bytes")
        end = 64 + 32 * S
        need(end <= len(file), "the section table is cut off")
        need(crc == zlib.crc32(file[:24] + bytes(4) + file[28:end]), "wrong CRC of the prefix")
        self.model_id = file[32:64].hex()
        self.sections = {}
        before = 0
        for number in range(S):
            kind, crc, offset, size, zero = struct.unpack_from("<IIQQQ", file, 64 + 32 * number)
            need(before < kind <= 11, f"kind {kind} after kind {before}")
            need(zero == 0, "reserved bytes of the section table are not 0")
            start = (end + 63) // 64 * 64
            need(offset == start, f"section {kind} at {offset}, expected {start}")
            need(offset + size <= len(file), f"section {kind} reaches past the end")
            zeros(file[end:offset], f"before section {kind}")
            self.sections[kind] = file[offset : offset + size]
            need(crc == zlib.crc32(self.sections[kind]), f"wrong CRC of section {kind}")
            before, end = kind, offset + size
        need(end == len(file), f"the file ends at {len(file)}, expected {end}")
        need(set(range(1, 7)) <= set(self.sections), "a section that must be there is missing")

    def _section(self, kind, length):
        part = self.sections[kind]
        need(len(part) == length, f"section {kind} of {len(part)} bytes, expected {length}")
        return part

    # 2, 3
    def _shape(self):
        part = self._section(1, 64)
        found = struct.unpack("<IHHBBBBHHQ32sQ", part)
        self.V, self.G, self.N, size, self.id_kind, self.person, self.by_root = found[:7]
        need(1 <= self.V <= min(2**26, 8 * len(self.file)), f"{self.V} items")
        need(1 <= self.G <= min(self.V, 4096), f"{self.G} groups of {self.V} items")
        need(1 <= self.N <= 256, f"{self.N} blocks")
        need(size == 8, f"{size} numbers per block, expected 8")
        need(self.id_kind <= 3, f"id kind {self.id_kind}")
        need(self.person <= 1, f"person {self.person}")
        need(self.by_root <= 1, f"vote scale {self.by_root}")
        self.K = found[7]
        need(self.K <= self.N, f"{self.K} lists of words for {self.N} blocks")
        need(found[8] == 0 and found[11] == 0, "reserved bytes of SHAPE are not 0")
        self.trained, self.catalogue = found[9], found[10].hex()
        need(self.trained < 253402300800, f"date {self.trained}")
        self.D = 8 * self.N
        self.meta = self._meta(self._section(2, 512))

    def _meta(self, part):
        def never(name):
            raise ValueError(f"{name} is no JSON")

        try:
            meta = json.loads(part.decode("utf-8"), parse_constant=never)
        except ValueError as error:
            raise RefusedError(f"META: {error}") from None
        need(isinstance(meta, dict), "META is no object")
        return meta

    # 4
    def _groups(self):
        part = self._section(3, self.G * (16 + self.N))
        self.sizes, self.counts, self.weights, self.depths = [], [], [], []
        for g in range(self.G):
            size, K, a, b, c, vector, history = struct.unpack_from("<IBBBBff", part, 16 * g)
            need(size >= 1, f"group {g} is empty")
            need(K <= 64, f"{K} neighbours per item")
            zeros([a, b, c], f"group {g}")
            finite([vector, history], "vote weight", 0)
            at = 16 * self.G + g * self.N
            self.sizes.append(size)
            self.counts.append(K)
            self.weights.append((f32(history), f32(vector)))
            self.depths.append(list(part[at : at + self.N]))
            need(max(self.depths[-1]) <= 8, f"depth {max(self.depths[-1])}")
        need(sum(self.sizes) == self.V, f"groups of {sum(self.sizes)} items, expected {self.V}")
        self.starts = [sum(self.sizes[:g]) for g in range(self.G)]

    # 5
    def _decode(self):
        D, N = self.D, self.N
        halves = finite(numbers("e", self._section(4, (self.G + 1) * D * 2)), "MEANS")
        self.means = [halves[g * D : (g + 1) * D] for g in range(self.G)]
        self.nobody = halves[self.G * D :]
        values = numbers("f", self._section(5, 12 * N + 144 + 1024 + 64))
        self.scales = [f32(v) for v in finite(values[: 3 * N], "scale", 0)]
        values = values[3 * N :]
        steps = [f32(v) for v in finite(values[:36], "step")]
        self.steps = {}
        for b in range(1, 9):
            for p in range(b):
                self.steps[b, p] = steps.pop(0)
        self.gains = [f32(v) for v in finite(values[36:292], "gain", 0)]
        self.votes = [f32(v) for v in finite(values[292:], "vote", 0)]
        need(self.votes[0] == 0, f"the vote of an empty slot is {self.votes[0]}")
        need((11 in self.sections) == (self.K > 0), "WORDS do not match the number of lists")
        both = numbers("b", self._section(11, 32 * D * self.K + 2048)) if self.K else []
        self.words, self.letters = both[: 32 * D * self.K], both[32 * D * self.K :]

    def word(self, block, number):
        """D numbers."""
        at = (32 * block + number) * self.D
        return self.words[at : at + self.D]

    # 6
    def _codes(self):
        lengths = [
            n * (1 + sum(row)) if any(row) else 0
            for n, row in zip(self.sizes, self.depths, strict=True)
        ]
        part = self._section(6, sum(lengths))
        at = 0
        # Per group; columns: block, planes of signs, which of them (or its kind), bytes.
        self.gain_bytes, self.columns = [], []
        for n, row in zip(self.sizes, self.depths, strict=True):
            columns = []
            if any(row):
                self.gain_bytes.append(part[at : at + n])
                at += n
            else:
                self.gain_bytes.append(None)
            for block, depth in enumerate(row):
                before = ["words"] * (block < self.K) + ["letters"] * (self.K > 0)
                c = max(0, depth - len(before))
                for q in [*before[:depth], *range(c)]:
                    columns.append((block, c, q, part[at : at + n]))
                    at += n
            self.columns.append(columns)

    # 7
    def _neighbours(self):
        bits = max(1, (self.V - 1).bit_length())
        full, rest = bits // 8, bits % 8
        need((7 in self.sections) == any(self.counts), "NEIGHBOURS where no group keeps any")
        self.slots = {}  # item: (number, weight) of each slot
        part, at = self.sections.get(7, b""), 0
        length = sum(
            K * (full * n + rest * ((n + 7) // 8) + (n + 1) // 2)
            for n, K in zip(self.sizes, self.counts, strict=True)
        )
        need(len(part) == length, f"NEIGHBOURS of {len(part)} bytes, expected {length}")
        for first, n, K in zip(self.starts, self.sizes, self.counts, strict=True):
            for _ in range(K):
                at = self._slot(part, at, first, n, full, rest)

    def _slot(self, part, at, first, n, full, rest):
        number = [0] * n
        for c in range(full):
            for i in range(n):
                number[i] += part[at + i] << (8 * c)
            at += n
        for r in range(rest):
            for i in range((n + 7) // 8 * 8):
                bit = (part[at + i // 8] >> (i % 8)) & 1
                if i < n:
                    number[i] += bit << (8 * full + r)
                else:
                    need(bit == 0, "an unused bit of a plane is not 0")
            at += (n + 7) // 8
        for i in range((n + 1) // 2 * 2):
            weight = (part[at + i // 2] >> (4 * (i % 2))) & 15
            if i == n:
                need(weight == 0, "an unused half of a byte of weights is not 0")
                break
            need(number[i] < self.V, f"neighbour {number[i]} of {self.V} items")
            need(weight or number[i] == 0, "an empty slot names a neighbour")
            slots = self.slots.setdefault(first + i, [])
            need(not slots or weight <= slots[-1][1], "a weight rises along an item's slots")
            slots.append((number[i], weight))
        return at + (n + 1) // 2

    # 8, 9
    def _rest(self):
        self.map = None
        if 8 in self.sections:
            self.map = finite(numbers("e", self._section(8, self.D * self.D * 2)), "MAP")
        need((9 in self.sections) == (self.id_kind != 0), "IDS do not match the id kind")
        self.ids = self._ids(self.sections.get(9))
        need(len(set(self.ids)) == self.V, "an id occurs twice")
        self.number_of = {text: number for number, text in enumerate(self.ids)}
        need(10 not in self.sections or self.sections[10], "WITHDRAWN is empty")
        hidden = self.sections.get(10, b"")
        need(len(hidden) % 4 == 0, f"WITHDRAWN of {len(hidden)} bytes")
        self.withdrawn = numbers("I", hidden)
        for before, after in zip([-1, *self.withdrawn], self.withdrawn, strict=False):
            need(before < after < self.V, f"withdrawn {after} after {before} of {self.V} items")

    def _ids(self, part):
        """All ids as text."""
        if self.id_kind == 0:
            return [str(number) for number in range(self.V)]
        if self.id_kind in (1, 2):
            width = 4 * self.id_kind
            need(len(part) == self.V * width, f"IDS of {len(part)} bytes")
            return [str(value) for value in numbers("I" if width == 4 else "Q", part)]
        head = 4 * (self.V + 1)
        need(len(part) >= head, f"IDS of {len(part)} bytes, expected offsets of {head}")
        ends, text = numbers("I", part[:head]), part[head:]
        need(ends[0] == 0 and ends[-1] == len(text), "ids do not span their text")
        ids = []
        for start, stop in pairwise(ends):
            need(start < stop <= len(text), f"an id from {start} to {stop}")
            try:
                ids.append(text[start:stop].decode("utf-8"))
            except UnicodeDecodeError as error:
                raise RefusedError(f"an id is no UTF-8: {error}") from None
        return ids
