"""A slow reader of stream files, written from docs/stream-format.md alone: sections 1 to 5."""

import hashlib
import math
import struct
import zlib


class RefusedError(Exception):
    """A file breaks a rule of the page."""


def need(fits, message):
    if not fits:
        raise RefusedError(message)


def numbers(code, data):
    """All numbers of one struct code in some bytes."""
    return list(struct.unpack(f"<{len(data) // struct.calcsize('<' + code)}{code}", data))


def weight(data, at, name):
    """An f32 of the page: finite, not negative, at most 10^9."""
    value = struct.unpack_from("<f", data, at)[0]
    need(math.isfinite(value) and 0 <= value <= 10**9, f"{name} is {value}")
    return value


def verified(content, signature, key, name):
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    need(signature != bytes(64), f"{name} is not signed")
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, content)
    except InvalidSignature:
        raise RefusedError(f"{name} has a wrong signature") from None


class StreamFile:
    """What a stream's bytes say, after every rule was checked."""

    def __init__(self, data, key=None, sequence=0):
        self.data, self.key = data, key
        self.read_head()
        need(self.sequence >= sequence, f"sequence {self.sequence}, expected {sequence} or more")
        self.codebooks, self.widths, self.columns = [], [], []
        self.books_of, self.all_widths = [0] * self.N, 0
        self.codes = [[] for _ in range(self.V)]
        self.slots = [[] for _ in range(self.V)]
        self.ids = []
        self.read_chunks()
        self.number_of = {one: i for i, one in enumerate(self.ids)}
        need(len(self.number_of) == len(self.ids), "an id occurs twice")

    # 1
    def read_head(self):
        data = self.data
        need(len(data) >= 12 and data[:8] == b"\x89ELASTIC", "no stream")
        version, self.N = struct.unpack_from("<HH", data, 8)
        need(version == 4, f"version {version}, expected 4")
        need(1 <= self.N <= 64, f"{self.N} blocks")
        D = self.D = 8 * self.N
        self.head_bytes = 276 + D
        need(len(data) >= self.head_bytes, f"{len(data)} bytes, a head has {self.head_bytes}")
        crc = struct.unpack_from("<I", data, 272 + D)[0]
        need(crc == zlib.crc32(data[: 272 + D]), "wrong CRC of the head")
        self.V, self.id_kind, cosine, person, self.support, zero = struct.unpack_from(
            "<IBBBBI", data, 12
        )
        self.sequence, trained, self.least, self.length = struct.unpack_from("<QQQQ", data, 24)
        need(1 <= self.V <= 2**26 and self.V <= self.least, f"{self.V} items")
        need(self.id_kind <= 3, f"id kind {self.id_kind}")
        need(cosine <= 1, f"score {cosine}")
        need(person <= 1, f"person {person}")
        need(zero == 0, "reserved bytes of the head")
        need(trained < 253402300800, f"date {trained}")
        need(self.least <= self.length <= 2**40, f"least {self.least}, length {self.length}")
        self.cosine = bool(cosine)
        self.model_id, self.catalogue = data[56:88], data[88:120]
        self.votes = numbers("H", data[120:152])
        need(self.votes[0] == 0 and self.votes == sorted(self.votes), f"votes {self.votes}")
        self.popularity = list(data[152:180])
        self.unit = weight(data, 180, "unit")
        self.recency = weight(data, 184, "recency")
        self.lone = (weight(data, 188, "weight"), weight(data, 192, "weight"))
        self.empty = numbers("b", data[196 : 196 + D])
        if self.key is not None:
            verified(data[: 208 + D], data[208 + D : 272 + D], self.key, "the head")

    # 2
    def read_chunks(self):
        size, at, number = len(self.data), self.head_bytes, 0
        link = self.data[196 + self.D : 208 + self.D]
        need(size <= self.length, f"{size} bytes, the stream has {self.length}")
        need(size >= self.least, f"{size} bytes, least is {self.least}")
        self.ends = []
        while at < self.length and at < size:
            need(at + 32 <= self.length, "the last chunk does not end at length")
            if at + 32 > size:
                break
            L = struct.unpack_from("<I", self.data, at)[0]
            need(at + 32 + L <= self.length, f"chunk {number} ends after length")
            if at + 32 + L > size:
                break
            need(at >= 4096 * (number - 1024), f"chunk {number} at {at}: too many chunks")
            chunk = self.data[at : at + 32 + L]
            if self.key is not None:
                found = hashlib.sha256(chunk).digest()[:12]
                need(link == found, f"chunk {number} is not the one that the link names")
            link = chunk[20:32]
            self.read_chunk(number, chunk)
            at, number = at + len(chunk), number + 1
            self.ends.append(at)
        need(self.least in self.ends, f"least {self.least} is not the end of a chunk")
        if at == self.length and self.key is not None:
            need(link == bytes(12), "the last chunk has a link")

    def read_chunk(self, number, chunk):
        kind, width, which, first, count, crc = struct.unpack_from("<BBHIII", chunk, 4)
        need(crc == zlib.crc32(chunk[:16] + bytes(4) + chunk[20:]), f"wrong CRC of chunk {number}")
        need(1 <= kind <= 5, f"chunk {number} is of kind {kind}")
        need(kind == 1 or width == 0, f"chunk {number} of kind {kind} has width {width}")
        need(count >= 1, f"chunk {number} has count 0")
        if kind != 2:
            need(first + count <= (32 if kind == 1 else self.V), f"{count} from {first}")
        readers = (
            self.codebook,
            self.open_columns,
            self.give_column,
            self.give_slot,
            self.give_ids,
        )
        readers[kind - 1](chunk[32:], width, which, first, count)

    # 3
    def codebook(self, payload, width, which, first, count):
        need(1 <= width <= self.N, f"codewords of {width} blocks")
        if not self.codebooks or len(self.codebooks[-1]) == 32:
            need(len(self.codebooks) < 64, "a 65th codebook")
            self.codebooks.append([])
            self.widths.append(width)
        need(which == len(self.codebooks) - 1, f"codebook {which}, expected the next")
        need(width == self.widths[which], "codewords of another width")
        need(first == len(self.codebooks[which]), f"codeword {first}, expected the next")
        need(len(payload) == count * 8 * width, f"{len(payload)} bytes of codewords")
        for i in range(count):
            self.codebooks[which].append(numbers("b", payload[i * 8 * width : (i + 1) * 8 * width]))

    def open_columns(self, payload, width, which, first, count):
        need(which == len(self.columns), f"column {which}, expected {len(self.columns)}")
        need(first == 0, f"first {first} in COLUMNS")
        need(len(self.columns) + count <= 1024, "a 1,025th column")
        need(len(payload) == 16 * count, f"{len(payload)} bytes for {count} columns")
        for at in range(0, 16 * count, 16):
            book, block, scale, gain = struct.unpack_from("<HHHH", payload, at)
            need(book < len(self.codebooks), f"codebook {book} is not there")
            need(len(self.codebooks[book]) == 32, f"codebook {book} is not complete")
            need(block + self.widths[book] <= self.N, f"a column from block {block}")
            need(1 <= scale <= 16384, f"scale {scale}")
            need(1 <= gain <= 32768, f"gain {gain} of a column")
            for n in range(block, block + self.widths[book]):
                self.books_of[n] += scale
                need(self.books_of[n] <= 16384, f"scales over block {n}: {self.books_of[n]}")
            self.all_widths += self.widths[book] - 1
            need(self.all_widths <= 16 * self.N, f"columns {self.all_widths} blocks wider than 1")
            both = (weight(payload, at + 8, "weight"), weight(payload, at + 12, "weight"))
            self.columns.append((book, block, scale, both, gain))

    def give_column(self, payload, width, which, first, count):
        need(which < len(self.columns), f"column {which} is not open")
        need(len(payload) == count, f"{len(payload)} bytes for {count} items")
        for i in range(count):
            self.need_id(first + i)
            had = len(self.codes[first + i])
            need(had == which, f"column {which} of an item that has {had}")
            self.codes[first + i].append(payload[i])

    def need_id(self, item):
        need(self.id_kind == 0 or item < len(self.ids), f"item {item} has no id yet")

    # 4
    def give_slot(self, payload, width, which, first, count):
        need(which < 64, f"slot {which}")
        bits = max(1, len(bin(self.V - 1)) - 2)
        full, rest = bits // 8, bits % 8
        row, half = (count + 7) // 8, (count + 1) // 2
        need(len(payload) == full * count + rest * row + half, f"{len(payload)} bytes of a slot")
        planes, votes = payload[full * count : len(payload) - half], payload[len(payload) - half :]
        for i in range(count, 8 * row):
            for r in range(rest):
                need(not planes[r * row + i // 8] >> i % 8 & 1, "an unused bit is set")
        need(count % 2 == 0 or votes[-1] < 16, "an unused half of a byte of votes")
        for i in range(count):
            number = sum(payload[r * count + i] << 8 * r for r in range(full))
            for r in range(rest):
                number += (planes[r * row + i // 8] >> i % 8 & 1) << (8 * full + r)
            vote = votes[i // 2] >> 4 * (i % 2) & 15
            self.give_neighbour(first + i, which, number, vote)

    def give_neighbour(self, item, which, number, vote):
        self.need_id(item)
        slots = self.slots[item]
        need(len(slots) == which, f"slot {which} of an item that has {len(slots)}")
        need(number < self.V, f"neighbour {number} of {self.V} items")
        need(vote > 0 or number == 0, f"an empty slot names {number}")
        need(not slots or vote <= slots[-1][1], "a vote that rises")
        slots.append((number, vote))

    # 5
    def give_ids(self, payload, width, which, first, count):
        need(self.id_kind != 0, "IDS in a stream of dense ids")
        need(which == 0, f"which {which} in IDS")
        need(first == len(self.ids), f"ids from {first}, expected from {len(self.ids)}")
        if self.id_kind < 3:
            size = 4 * self.id_kind
            need(len(payload) == size * count, f"{len(payload)} bytes for {count} ids")
            self.ids += [str(value) for value in numbers("IQ"[self.id_kind - 1], payload)]
            return
        need(len(payload) >= 2 * count, "lengths of ids are cut off")
        lengths, at = numbers("H", payload[: 2 * count]), 2 * count
        need(len(payload) == 2 * count + sum(lengths), "ids do not fill their chunk")
        for length in lengths:
            need(length > 0, "an empty id")
            try:
                self.ids.append(payload[at : at + length].decode("utf-8"))
            except UnicodeDecodeError:
                raise RefusedError("an id is no UTF-8") from None
            at += length
