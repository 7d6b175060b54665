"""Sound streams of 5 MB that are made to cost a reader much, and an ordinary one."""

import itertools
import struct

import numpy as np

from benchmarks.plain.stream import N_BLOCKS, make_stream, seal, slot_payload

CODEBOOK, COLUMNS, CODES, NEIGHBOURS, IDS = range(1, 6)


def ordinary(of):
    """An ordinary stream of as many bytes as another one, and of as many items where they fit."""
    n_items = min(int.from_bytes(of[12:16], "little"), len(of) // 2)
    return make_stream(n_items, len(of) / n_items - 1 / 2)[0]


def tiny_chunks():
    """As many chunks as the page allows."""
    return make_stream(40_000, 125, piece_bytes=2300)[0]


def columns(n_items, n, rng, wide=0):
    """Chunks of n columns for all items: some over all blocks, then some over one block each."""
    chunks = []
    for book, width in enumerate([N_BLOCKS, 1] if wide else [1]):
        words = rng.integers(-60, 60, 256 * width, np.int8).tobytes()
        chunks.append((CODEBOOK, width, book, 0, 32, words))
    shapes = [(0, 0)] * wide + [(int(wide > 0), c % N_BLOCKS) for c in range(n - wide)]
    entries = b"".join(struct.pack("<4H2f", *shape, 1, 0, 0.5, 0.5) for shape in shapes)
    chunks.append((COLUMNS, 0, 0, 0, n, entries))
    return chunks + [(CODES, 0, c, 0, n_items, rng.bytes(n_items)) for c in range(n)]


def many_columns():
    """1,024 columns of 4,900 items."""
    return seal(4900, columns(4900, 1024, np.random.default_rng(0)))


def wide_columns():
    """Columns as wide as the page allows: 17 of 16 blocks, then 63 of one."""
    return seal(62_000, columns(62_000, 80, np.random.default_rng(0), wide=17))


def wide_alone():
    """Wide columns and nothing else, of as many items as fit."""
    return seal(294_000, columns(294_000, 17, np.random.default_rng(0), wide=17))


def claimed_items():
    """As many items as the page allows, of which one in a thousand has anything."""
    return seal(5_000_000, columns(4900, 1024, np.random.default_rng(0)))


def split_codebooks():
    """Codebooks of 32 chunks with a codeword each."""
    rng = np.random.default_rng(0)
    first, *rest = columns(40_000, 125, rng)
    words = [(CODEBOOK, 1, 0, w, 1, first[5][8 * w : 8 * w + 8]) for w in range(32)]
    return seal(40_000, words + rest)


def voting(numbers_of):
    """A slot of 40,000 items, 50 times, all of which vote."""
    n, votes = 40_000, np.full(40_000, 15)
    payloads = [slot_payload(numbers_of(slot, n), votes, n) for slot in range(50)]
    return seal(n, [(NEIGHBOURS, 0, slot, 0, n, each) for slot, each in enumerate(payloads)])


def one_neighbour():
    """Every slot names item 0."""
    return voting(lambda slot, n: np.zeros(n, np.uint32))


def liked_neighbours():
    """Every slot names an item of the history."""
    rng = np.random.default_rng(0)
    return voting(lambda slot, n: (900 * rng.integers(0, 45, n)).astype(np.uint32))


def near_misses():
    """Every slot names an item that shares its low bytes with one of the history, or nearly."""
    rng = np.random.default_rng(0)
    return voting(lambda slot, n: (900 * rng.integers(0, 45, n) ^ 1).astype(np.uint32) % n)


def alternating():
    """Chunks of one column that end at every other place, so that tiles have many pieces."""
    rng, n = np.random.default_rng(0), 40_000
    chunks, step = columns(n, 125, rng)[:2], 4096
    for c in range(125):
        edges = [0, *range(1 + 31 * c, n, step), n]
        pieces = itertools.pairwise(edges)
        chunks += [(CODES, 0, c, a, b - a, rng.bytes(b - a)) for a, b in pieces if a < b]
    return seal(n, chunks)


CRAFTED = (
    tiny_chunks,
    many_columns,
    wide_columns,
    wide_alone,
    claimed_items,
    split_codebooks,
    one_neighbour,
    liked_neighbours,
    near_misses,
    alternating,
)
HISTORY = range(0, 40_500, 900)
"""A history; ids that a stream does not have are skipped."""
