"""A slow reader that ranks, written from docs/stream-format.md alone: sections 6 to 10.

Scores are whole numbers; person vectors are Python floats, which are the page's f64.
"""

import math
import struct
import zlib

from tests.stream.reference_file import StreamFile, need, numbers, verified


class Reference:
    """One stream, or a prefix of it, and an optional withdrawn list; ids are text."""

    def __init__(self, data, *, key=None, sequence=0, withdrawn=None):
        self.file = StreamFile(data, key, sequence)
        self.withdrawn = set() if withdrawn is None else self.read_withdrawn(withdrawn)

    # 6
    def number_of(self, one):
        """The number of an id, or None."""
        if self.file.id_kind:
            return self.file.number_of.get(one)
        known = one.isdecimal() and str(int(one)) == one and int(one) < self.file.V
        return int(one) if known else None

    def id_of(self, number):
        return self.file.ids[number] if self.file.id_kind else str(number)

    def numbers_of(self, ids):
        """Distinct item numbers by their last mention, and the count of unknown ids."""
        found, unknown = [], 0
        for one in ids:
            number = self.number_of(one)
            if number is None:
                unknown += 1
                continue
            if number in found:
                found.remove(number)
            found.append(number)
        return found, unknown

    def vector(self, item):
        """The D whole numbers y of an item."""
        y = [0] * self.file.D
        for column, byte in enumerate(self.file.codes[item]):
            book, block, scale, *_ = self.file.columns[column]
            words = self.file.codebooks[book]
            low, high = words[byte % 16], words[16 + byte // 16]
            for j in range(len(low)):
                y[8 * block + j] += scale * (low[j] + high[j])
        return y

    def length(self, item):
        return math.sqrt(sum(value * value for value in self.vector(item)))

    def person(self, h, given):
        """The D whole numbers q of a person."""
        if given is not None:
            p = given
        elif not any(self.file.codes[item] for item in h):
            p = [float(value) for value in self.file.empty]
        else:
            p = [0.0] * self.file.D
            for number, item in enumerate(h):
                a = len(h) - 1 - number
                length = self.length(item)
                if length > 0:
                    t = (1.0 / (1.0 + self.file.recency * a)) / length
                    for k, value in enumerate(self.vector(item)):
                        p[k] = p[k] + value * t
        m = max(abs(value) for value in p)
        if m == 0:
            return [0] * self.file.D
        return [math.floor((value / m) * 32767 + 0.5) for value in p]

    # 7
    def tables(self, q):
        """(t, M): the 32 table entries of each column in use, and the largest |A|."""
        used = max(len(codes) for codes in self.file.codes)
        A = []
        for book, block, scale, *_ in self.file.columns[:used]:
            words = self.file.codebooks[book]
            A.append(
                [scale * sum(w * q[8 * block + k] for k, w in enumerate(word)) for word in words]
            )
        M = max((abs(a) for column in A for a in column), default=0)
        if M == 0:
            return [[0] * 32 for _ in A], 0
        return [[math.floor(float(a) * 32767.0 / M + 0.5) for a in column] for column in A], M

    def gain(self, item):
        P = self.file.popularity[len(bin(item + 1)) - 2]
        if not self.file.cosine:
            return P
        length = self.length(item)
        if length == 0:
            return 0
        G = self.file.columns[len(self.file.codes[item]) - 1][4] / 32768
        return min(255, math.floor(((self.file.unit * P) * G) / length + 0.5))

    def vote_values(self, q, M, h, by_vector):
        """W[columns of an item][vote]."""
        size = math.sqrt(sum(value * value for value in q))
        rho = (size * (32767 / M)) * (self.file.unit * 128) if M else float(2**20)
        weights = [self.file.lone, *(column[3] for column in self.file.columns)]
        worth = []
        for both in weights:
            weight = both[by_vector] / math.sqrt(len(h))
            worth.append(
                [math.floor(min((weight * rho) * v, 2.0**40) + 0.5) for v in self.file.votes]
            )
        return worth

    def scores(self, h, given=None):
        """Item number → score, for all listable items."""
        q = self.person(h, given)
        t, M = self.tables(q)
        W = self.vote_values(q, M, h, given is not None) if h else None
        present, found = set(h), {}
        for item in range(self.file.V):
            codes, slots = self.file.codes[item], self.file.slots[item]
            if not codes and not slots:
                continue
            S = sum(t[c][b % 16] + t[c][16 + b // 16] for c, b in enumerate(codes))
            B = sum(W[len(codes)][v] for number, v in slots if number in present) if W else 0
            score = (S * self.gain(item) if codes else 0) + B
            assert abs(S) < 2**31
            assert abs(score) < 2**53
            found[item] = score
        return found

    # 8
    def recommend(
        self, history=(), vector=None, k=20, exclude=(), only=None, repeat=False, diversity=0
    ):
        """ids, scores, why (id or None, of each) and the count of unknown ids of the history."""
        h, unknown = self.numbers_of(history)
        scores = self.scores(h, vector)
        left_out = self.withdrawn | set(self.numbers_of(exclude)[0])
        left_out |= set() if repeat else set(h)
        if only is not None:
            left_out |= set(range(self.file.V)) - set(self.numbers_of(only)[0])
        ranked = sorted((-score, item) for item, score in scores.items() if item not in left_out)
        listed = [item for _, item in ranked[: 5 * k if diversity else k]]
        listed = self.varied(listed, scores, k, diversity) if diversity else listed
        ids = [self.id_of(item) for item in listed]
        return ids, [scores[item] for item in listed], [self.why(i, h) for i in listed], unknown

    def varied(self, listed, scores, k, diversity):
        """k of the listed items, one by one, that score high and differ from those before."""
        lowest, highest = (scores[listed[-1]], scores[listed[0]]) if listed else (0, 0)
        chosen = []

        def value(item):
            r = (scores[item] - lowest) / max(1, highest - lowest)
            s = max([0.0, *(self.cosine(item, other) for other in chosen)])
            return (1 - diversity) * r - diversity * s

        while len(chosen) < min(k, len(listed)):
            chosen.append(max((item for item in listed if item not in chosen), key=value))
        return chosen

    def cosine(self, item, other):
        """The cosine of two items' vectors; 0 where one has none."""
        dot = sum(a * b for a, b in zip(self.vector(item), self.vector(other), strict=True))
        return dot / max(1, self.length(item) * self.length(other))

    def why(self, item, h):
        for number, vote in self.file.slots[item]:
            if vote and number in h:
                return self.id_of(number)
        return None

    # 9
    def read_vector(self, data):
        """The D numbers of a person's vector file."""
        D = self.file.D
        need(len(data) == 48 + 2 * D, f"a vector file of {len(data)} bytes")
        magic, version, size, crc, model_id = struct.unpack_from("<8sHHI32s", data)
        need(magic == b"\x89ELVECTO" and version == 2 and size == D, "no such vector")
        need(crc == zlib.crc32(data[:12] + bytes(4) + data[16:]), "wrong CRC of the vector")
        need(model_id == self.file.model_id, "a vector of another model")
        found = numbers("e", data[48:])
        need(all(math.isfinite(value) for value in found), "a number of a vector is not finite")
        return found

    # 10
    def read_withdrawn(self, data):
        """The numbers in a withdrawn list."""
        need(len(data) >= 120 and len(data) % 4 == 0, f"a withdrawn list of {len(data)} bytes")
        magic, version, zero, crc, model_id = struct.unpack_from("<8sHHI32s", data)
        need(magic == b"\x89ELWITHD" and version == 1 and zero == 0, "no such withdrawn list")
        need(crc == zlib.crc32(data[:12] + bytes(4) + data[16:]), "wrong CRC of a withdrawn list")
        need(model_id == self.file.model_id, "a withdrawn list of another model")
        if self.file.key is not None:
            unsigned = data[:12] + bytes(4) + data[16:56] + bytes(64) + data[120:]
            verified(unsigned, data[56:120], self.file.key, "the withdrawn list")
        items = numbers("I", data[120:])
        need(items == sorted(set(items)), "withdrawn items that do not rise")
        need(not items or items[-1] < self.file.V, "a withdrawn item that does not exist")
        return set(items)
