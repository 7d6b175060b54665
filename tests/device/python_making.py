"""Streams made by hand from `docs/stream-format.md`, random and small ones too."""

import hashlib
import json
import struct
import zlib
from dataclasses import dataclass

import numpy as np

MODEL_ID = bytes(range(32))
CODEBOOK, COLUMNS, CODES, NEIGHBOURS, IDS = range(1, 6)
KINDS = ("dense", "u32", "u64", "text")
GAINS = (30_001, 16_384, 32_768, 9_000, 1)
"""Of a random stream's columns, in turn."""


@dataclass
class Chunk:
    """A chunk without its checksum and link, which `seal` adds."""

    kind: int
    which: int
    first: int
    count: int
    payload: bytes
    width: int = 0


@dataclass
class Head:
    """The fields of a head that a test may choose."""

    N: int = 1
    V: int = 1
    id_kind: int = 0
    cosine: int = 1
    person: int = 0
    support: int = 5
    sequence: int = 7
    date: int = 1767312000
    model_id: bytes = MODEL_ID
    catalogue: bytes = bytes(32)
    values: tuple = tuple(range(0, 160, 10))
    popularity: tuple = (128,) * 28
    unit: float = 40.0
    recency: float = 0.1
    weights: tuple = (0.5, 0.25)
    vector: tuple = ()
    least: int = 0  # 0: the end of the first chunk that gives an item a column or a slot
    length: int = 0  # 0: that of the stream

    def pack(self, link, key=None):
        """Its bytes; `key` is a private Ed25519 key."""
        out = struct.pack("<8sHHI", b"\x89ELASTIC", 4, self.N, self.V)
        out += bytes((self.id_kind, self.cosine, self.person, self.support)) + bytes(4)
        out += struct.pack("<QQQQ", self.sequence, self.date, self.least, self.length)
        out += self.model_id + self.catalogue + struct.pack("<16H", *self.values)
        out += bytes(self.popularity) + struct.pack("<4f", self.unit, self.recency, *self.weights)
        out += struct.pack(f"<{8 * self.N}b", *(self.vector or (0,) * 8 * self.N)) + link
        out += bytes(64) if key is None else key.sign(out)
        return out + struct.pack("<I", zlib.crc32(out))


def seal(head, chunks, key=None):
    """The bytes of a stream: checksums and links made from the last chunk to the first."""
    size, ends, out, link = 276 + 8 * head.N, [], [], bytes(12)
    for chunk in chunks:
        ends.append((ends or [size])[-1] + 32 + len(chunk.payload))
    useful = [end for end, c in zip(ends, chunks, strict=True) if c.kind in (CODES, NEIGHBOURS)]
    head.length = head.length or ends[-1]
    head.least = head.least or next((end for end in useful if end >= head.V), ends[-1])
    for c in reversed(chunks):
        start = struct.pack("<IBBHII", len(c.payload), c.kind, c.width, c.which, c.first, c.count)
        crc = zlib.crc32(start + bytes(4) + link + c.payload)
        out.append(start + struct.pack("<I", crc) + link + c.payload)
        link = hashlib.sha256(out[-1]).digest()[:12]
    return head.pack(link, key) + b"".join(reversed(out))


def ends_of(stream):
    """Where the head and each chunk of a sound stream end."""
    ends = [276 + 8 * struct.unpack_from("<H", stream, 10)[0]]
    while ends[-1] < len(stream):
        ends.append(ends[-1] + 32 + struct.unpack_from("<I", stream, ends[-1])[0])
    return ends


def columns_payload(entries):
    """Of (codebook, first block, scale, gain, weight by history, weight by vector) each."""
    return b"".join(struct.pack("<4H2f", *entry) for entry in entries)


def slot_payload(numbers, votes, n_items):
    """NEIGHBOURS [4], bit by bit."""
    n, digits = len(numbers), max(1, (n_items - 1).bit_length())
    full, rest = divmod(digits, 8)
    out = bytearray()
    for f in range(full):
        out += bytes(number >> 8 * f & 255 for number in numbers)
    for r in range(rest):
        row = bytearray(-(-n // 8))
        for i, number in enumerate(numbers):
            row[i // 8] |= (number >> 8 * full + r & 1) << i % 8
        out += row
    halves = bytearray(-(-n // 2))
    for i, vote in enumerate(votes):
        halves[i // 2] |= vote << 4 * (i % 2)
    return bytes(out + halves)


def ids_payload(kind, ids):
    """IDS [5] of some ids."""
    if kind < 3:
        return struct.pack(f"<{len(ids)}{' IQ'[kind]}", *ids)
    raw = [each.encode() for each in ids]
    return struct.pack(f"<{len(raw)}H", *map(len, raw)) + b"".join(raw)


def random_ids(kind, n, rng):
    """Ids of a kind, small and large ones, short and long ones."""
    if kind == 0:
        return list(range(n))
    if kind < 3:
        most = 2 ** (32 * kind)
        small = rng.choice(50 * n, n, replace=False).tolist()
        return [each if i % 3 else most - 1 - each for i, each in enumerate(small)]
    letters = "aébß漢字🙂z"
    return ["".join(rng.choice(list(letters), rng.integers(0, 5))) + f"{i:x}" for i in range(n)]


@dataclass
class Made:
    """A stream, its head and chunks, and the ids that its items have."""

    data: bytes
    head: Head
    chunks: list
    ids: list


def random_stream(seed, n=None, V=None, base=0, key=None, **given):
    """A small stream with whatever the page allows; the same for the same arguments.

    Args:
        n: Items that may get something.
        V: Items that the head claims, n by default.
        base: Number of the first of the n items; only where ids are dense.
    """
    rng = np.random.default_rng(seed)
    n, N = n or int(rng.integers(1, 60)), given.pop("N", None) or int(rng.integers(1, 4))
    head = Head(N=N, V=V or n, id_kind=int(rng.integers(4)), cosine=int(rng.integers(2)))
    head.unit, head.recency = float(rng.choice([0, 1, 40.5, 3000])), float(rng.choice([0, 0.3, 2]))
    head.weights = tuple(rng.choice([0.0, 0.5, 3.0], 2).tolist())
    head.values = (0, *np.sort(rng.integers(0, 65536, 15)).tolist())
    head.popularity = tuple(rng.integers(0, 256, 28).tolist())
    head.vector = tuple(rng.integers(-128, 128, 8 * N).tolist())
    vars(head).update(given)
    ids = list(range(base, base + n)) if head.id_kind == 0 else random_ids(head.id_kind, n, rng)
    chunks = list(_Growth(head, ids, base, rng).chunks())
    return Made(seal(head, chunks, key), head, chunks, ids)


class _Growth:
    """Chunks in a random order that the page allows."""

    def __init__(self, head, ids, base, rng):
        self.head, self.ids, self.base, self.rng = head, ids, base, rng
        self.columns, self.slots = np.zeros((2, len(ids)), int)
        self.votes, self.widths = np.full(len(ids), 15), []
        self.n_columns, self.known = 0, 0 if head.id_kind else len(ids)

    def chunks(self):
        """The chunks; as many as make V allowed, and something is listable."""
        size, useful, rng = 276 + 8 * self.head.N, False, self.rng
        made = (self.codebook, self.open_columns, self.more_ids, *2 * [self.codes, self.near])
        while not useful or size < self.head.V or rng.random() < 0.96:
            full = useful and size < self.head.V
            chosen = self.codebook if full else made[rng.integers(len(made))]
            for chunk in chosen() or ():
                useful |= chunk.kind in (CODES, NEIGHBOURS)
                size += 32 + len(chunk.payload)
                yield chunk
        yield from self.codes() or ()

    def codebook(self):
        """A codebook in one piece or two."""
        if len(self.widths) == 64:
            return
        width, cut = int(self.rng.integers(1, self.head.N + 1)), int(self.rng.integers(32))
        width = self.head.N if self.head.V > 2000 else width
        self.widths.append(width)
        for first, stop in ((0, cut), (cut, 32)) if cut else ((0, 32),):
            raw = self.rng.integers(-128, 128, (stop - first) * 8 * width)
            raw *= self.rng.random() > 0.1  # some have no length
            payload = raw.astype(np.int8).tobytes()
            yield Chunk(CODEBOOK, len(self.widths) - 1, first, stop - first, payload, width)

    def open_columns(self):
        """One to three columns."""
        if not self.widths or self.n_columns > 12:
            return
        entries = []
        for _ in range(int(self.rng.integers(1, 4))):
            codebook = int(self.rng.integers(len(self.widths)))
            f = int(self.rng.integers(self.head.N - self.widths[codebook] + 1))
            scale, weights = int(self.rng.choice([1, 2, 7, 300])), self.rng.choice([0, 0.25, 2], 2)
            gain = GAINS[(self.n_columns + len(entries)) % len(GAINS)]
            entries.append((codebook, f, scale, gain, *weights.tolist()))
        yield Chunk(COLUMNS, self.n_columns, 0, len(entries), columns_payload(entries))
        self.n_columns += len(entries)

    def more_ids(self):
        """Ids of some more items."""
        if self.known < len(self.ids):
            n = int(self.rng.integers(1, len(self.ids) - self.known + 1))
            some = self.ids[self.known : self.known + n]
            yield Chunk(IDS, 0, self.known, n, ids_payload(self.head.id_kind, some))
            self.known += n

    def codes(self):
        """A column of some items that have the same columns."""
        a, b = _alike(self.columns[: self.known], self.n_columns, self.rng)
        if a < b:
            payload = self.rng.bytes(b - a)
            yield Chunk(CODES, int(self.columns[a]), self.base + a, b - a, payload)
            self.columns[a:b] += 1

    def near(self):
        """A slot of some items that have the same slots."""
        a, b = _alike(self.slots[: self.known], 6, self.rng)
        if a < b:
            self.votes[a:b] = np.minimum(self.votes[a:b], self.rng.integers(0, 16, b - a))
            near = self.base + self.rng.integers(0, len(self.ids), b - a)
            far = self.rng.integers(0, self.head.V, b - a)
            numbers = np.where(self.rng.random(b - a) < 0.7, near, far) * (self.votes[a:b] > 0)
            payload = slot_payload(numbers.tolist(), self.votes[a:b].tolist(), self.head.V)
            yield Chunk(NEIGHBOURS, int(self.slots[a]), self.base + a, b - a, payload)
            self.slots[a:b] += 1


def _alike(counts, most, rng):
    """First and end of some neighbouring items with the same count below `most`; or nothing."""
    if not len(counts):
        return 0, 0
    first = int(rng.integers(len(counts)))
    others = np.flatnonzero(counts[first:] != counts[first])
    stop = first + int(others[0]) if len(others) else len(counts)
    return first, int(rng.integers(first + 1, stop + 1)) if counts[first] < most else first


def vector_file(numbers, model_id=MODEL_ID, version=2, D=None):
    """A person's vector [9]."""
    D = len(numbers) if D is None else D
    start = struct.pack("<8sHH", b"\x89ELVECTO", version, D)
    end = model_id + np.asarray(numbers, "<f2").tobytes()
    return start + struct.pack("<I", zlib.crc32(start + bytes(4) + end)) + end


def withdrawn_file(items, model_id=MODEL_ID, sequence=1, key=None):
    """A list of withdrawn items [10]."""
    start = struct.pack("<8sHH", b"\x89ELWITHD", 1, 0)
    middle = model_id + struct.pack("<Q", sequence)
    end = struct.pack(f"<{len(items)}I", *items)
    sign = bytes(64) if key is None else key.sign(start + bytes(4) + middle + bytes(64) + end)
    crc = zlib.crc32(start + bytes(4) + middle + sign + end)
    return start + struct.pack("<I", crc) + middle + sign + end


def catalogue_of(titles, **changed):
    """The catalogue of a `random_stream` of 50 items."""
    sound = {
        "format": "elasticrec catalogue 1",
        "model_id": MODEL_ID.hex(),
        "id_kind": "integer",
        "ids": [str(number) for number in range(50)],
        "titles": titles,
    }
    return json.dumps(sound | changed).encode()
