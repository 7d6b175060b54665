"""A slow reader of bundles, straight from docs/bundle-format.md: one loop per sentence.

It gives the answers in device/conformance and is the judge of damaged files. It shares no code with
the writer or with the runtimes, holds everything in lists, and takes seconds where they take
milliseconds. Numbers in comments are sections of the page.
"""

import hashlib
import math
import struct
import zlib

import numpy as np

from tests.bundle.reference_file import ReferenceFile, finite, need, numbers

f32, f64 = np.float32, np.float64


class Reference(ReferenceFile):
    """An open bundle that ranks."""

    # 6
    def vector(self, item):
        """x, D numbers of f64."""
        g = max(g for g in range(self.G) if self.starts[g] <= item)
        i = item - self.starts[g]
        x = [f64(m) for m in self.means[g]]
        if any(self.depths[g]):
            gain = f64(self.gains[self.gain_bytes[g][i]])
            for k in range(self.D):
                t = f64(0)
                for block, _, q, column in self.columns[g]:
                    if q == "words":
                        v = column[i]
                        both = self.word(block, v % 16)[k] + self.word(block, 16 + v // 16)[k]
                        t = t + f64(self.scales[3 * block]) * f64(both)
                for block, c, q, column in self.columns[g]:
                    if q == "letters" and block == k // 8:
                        letter = f64(self.letters[8 * column[i] + k % 8])
                        t = t + f64(self.scales[3 * block + 1]) * letter
                    elif q != "words" and block == k // 8:
                        step = f64(self.steps[c, q]) * f64(self.scales[3 * block + 2])
                        t = t + step * sign(column[i], k % 8)
                x[k] = x[k] + t * gain
        return x

    # 10
    def person_vector(self, h):
        if not h:
            return [f32(m) for m in self.nobody]
        s = [f64(0)] * self.D
        for item in h:
            s = [a + b for a, b in zip(s, unit(self.vector(item)), strict=True)]
        s = unit(s)
        if self.map is not None:
            u = []
            for k in range(self.D):
                total = f64(0)
                for j in range(self.D):
                    total = total + s[j] * f64(self.map[j * self.D + k])
                u.append(total)
            s = u
        return [f32(value) for value in s]

    def numbers_of(self, ids):
        """Distinct item numbers in rising order, and how many ids do not occur."""
        known = [self.number_of[i] for i in ids if i in self.number_of]
        return sorted(set(known)), len(ids) - len(known)

    # 11
    def scores(self, u, h, by_vector):
        """Item number → f32 score, of all items in groups that keep something."""
        found = {}
        present = set(h)
        for g in range(self.G):
            offset = f64(0)
            for k in range(self.D):
                offset = offset + f64(u[k]) * f64(self.means[g][k])
            offset = f32(offset)
            tables = [self._table(u, *column[:3]) for column in self.columns[g]]
            c = self.weights[g][by_vector]
            if self.by_root and h:
                c = f32(f64(c) / f64(math.sqrt(len(h))))
            for i in range(self.sizes[g] if any(self.depths[g]) or self.counts[g] else 0):
                score = offset
                if any(self.depths[g]):
                    t = f32(0)
                    for table, column in zip(tables, self.columns[g], strict=True):
                        t = t + table[column[3][i]]
                    t = t * self.gains[self.gain_bytes[g][i]]
                    score = offset + t
                if self.counts[g]:
                    v = f32(0)
                    for neighbour, weight in self.slots[self.starts[g] + i]:
                        if neighbour in present:
                            v = v + self.votes[weight]
                    score = score + c * v
                found[self.starts[g] + i] = score
        return found

    def _table(self, u, block, c, q):
        if q == "words":
            return self._table_of_words(u, block)
        spelt = q == "letters"
        s = self.scales[3 * block + 1] if spelt else self.steps[c, q] * self.scales[3 * block + 2]
        w = [u[8 * block + j] * s for j in range(8)]
        table = []
        for v in range(256):
            said = [self.letters[8 * v + j] if spelt else sign(v, j) for j in range(8)]
            total = f32(said[0]) * w[0]
            for j in range(1, 8):
                total = total + f32(said[j]) * w[j]
            table.append(total)
        return table

    def _table_of_words(self, u, block):
        said = []
        for number in range(32):
            total = f64(0)
            for k in range(self.D):
                total = total + f64(self.word(block, number)[k]) * f64(u[k])
            said.append(f32(total * f64(self.scales[3 * block])))
        return [said[v % 16] + said[16 + v // 16] for v in range(256)]

    # 12
    def recommend(self, history=(), user=None, k=20, exclude=(), only=None, repeat=False):
        """ids, scores, why (ids or None) and the count of unknown ids of the history."""
        h, unknown = self.numbers_of(history)
        u = self.person_vector(h) if user is None else [f32(value) for value in user]
        scores = self.scores(u, h, user is not None)
        left_out = set(self.withdrawn) | set(self.numbers_of(exclude)[0])
        left_out |= set() if repeat else set(h)
        allowed = set(range(self.V)) if only is None else set(self.numbers_of(only)[0])
        return (*self._list(scores, allowed - left_out, h, k), unknown)

    def similar(self, item, k=20):
        """ids and scores of the items most like one."""
        number = self.number_of[item]
        u = [f32(value) for value in unit(self.vector(number))]
        scores = self.scores(u, [number], False)
        hidden = {*self.withdrawn, number}
        return self._list(scores, set(range(self.V)) - hidden, [number], k)[:2]

    def _list(self, scores, allowed, h, k):
        ranked = sorted((-score, item) for item, score in scores.items() if item in allowed)[:k]
        listed = [item for _, item in ranked]
        why = [self._why(item, set(h)) for item in listed]
        return [self.ids[item] for item in listed], [scores[item] for item in listed], why

    def _why(self, item, present):
        voting = [
            (-self.votes[weight], neighbour)
            for neighbour, weight in self.slots.get(item, [])
            if weight and neighbour in present
        ]
        return self.ids[min(voting)[1]] if voting else None

    # 13
    def read_vector(self, file):
        """The D numbers of a person's vector file."""
        need(len(file) == 48 + 2 * self.D, f"a vector file of {len(file)} bytes")
        magic, version, D, crc, model_id = struct.unpack_from("<8sHHI32s", file)
        need(magic == b"\x89ELVECTO" and version == 1 and D == self.D, "no such vector")
        need(crc == zlib.crc32(file[:12] + bytes(4) + file[16:]), "wrong CRC of the vector")
        need(model_id.hex() == self.model_id, "a vector of another model")
        return [f32(value) for value in finite(numbers("e", file[48:]), "vector")]


def sign(byte, j):
    """+1 where a bit is set, else -1."""
    return 1 if byte >> j & 1 else -1


def unit(x):
    """x divided by its length where that is above 0, in f64."""
    total = f64(0)
    for value in x:
        total = total + value * value
    length = np.sqrt(total)
    return [value / length for value in x] if length > 0 else x


# 15
def apply_patch(old, patch):
    """The new file."""
    need(len(patch) >= 96, f"a patch of {len(patch)} bytes, expected 96 at least")
    magic, version, zero, P, old_bytes, new_bytes = struct.unpack_from("<8sHHIQQ", patch)
    need(magic == b"\x89ELPATCH" and version == 1 and zero == 0, "no such patch")
    need(old_bytes == len(old) <= 2**40, f"made for {old_bytes} bytes, got {len(old)}")
    need(new_bytes <= 2**40, f"a new file of {new_bytes} bytes")
    at = 96 + 16 * P
    need(at <= len(patch), "operations are cut off")
    need(hashlib.sha256(old).digest() == patch[32:64], "made for another old file")
    new, end = b"", 0
    for operation in range(P):
        offset, length = struct.unpack_from("<QQ", patch, 96 + 16 * operation)
        need(1 <= length, "an operation of no bytes")
        if offset == 2**64 - 1:
            need(at + length <= len(patch), "inserts are cut off")
            new += patch[at : at + length]
            at += length
        else:
            need(end <= offset and offset + length <= len(old), "a copy outside its place")
            new += old[offset : offset + length]
            end = offset + length
    need(at == len(patch), "bytes are left over")
    need(len(new) == new_bytes, f"{len(new)} bytes, expected {new_bytes}")
    need(hashlib.sha256(new).digest() == patch[64:96], "not the new file that was promised")
    return new
