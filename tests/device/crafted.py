"""Sound streams of 5 MB that are made to cost a reader much, and an ordinary one."""

import itertools
import struct

import numpy as np

import elasticrec_device
from benchmarks.plain.stream import MODEL_ID, N_BLOCKS, make_stream, seal, slot_payload
from tests.device.python_making import withdrawn_file

CODEBOOK, COLUMNS, CODES, NEIGHBOURS, IDS = range(1, 6)
U64, TEXT = 2, 3
N_IDS, N_TEXTS = 500_000, 9800


def ordinary(of):
    """An ordinary stream of as many bytes as another one, and of as many items where they fit.

    Of a stream with ids it has as many ids of as many bytes, but random ones.
    """
    if of[16] == U64:
        rng = np.random.default_rng(1)
        return with_ids(U64, rng.integers(2**53, 2**63, N_IDS).tolist())
    if of[16] == TEXT:
        rng = np.random.default_rng(1)
        return with_ids(TEXT, [rng.bytes(246).hex().encode() for _ in range(N_TEXTS)])
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
    entries = b"".join(struct.pack("<4H2f", *shape, 1, 32768, 0.5, 0.5) for shape in shapes)
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


def some_votes():
    """One slot of twenty names an item of the history, where nothing foretells which."""
    rng = np.random.default_rng(0)
    return voting(lambda slot, n: (900 * rng.integers(0, 900, n) % n).astype(np.uint32))


def many_levels():
    """Lists that vote, of items of which few neighbours have as many columns."""
    rng, n, step = np.random.default_rng(0), 40_000, 1024
    slots = [(900 * rng.integers(0, 45, n)).astype(np.uint32) for _ in range(44)]
    chunks = columns(n, 40, rng)[:2]
    for slot, numbers in enumerate(slots):
        raw = slot_payload(numbers, np.full(n, 15), n)
        chunks.append((NEIGHBOURS, 0, slot, 0, n, raw))
    for first, c in itertools.product(range(0, n, step), range(40)):
        start, end = first + 25 * c, min(first + step, n)
        if start < end:
            chunks.append((CODES, 0, c, start, end - start, rng.bytes(end - start)))
    return seal(n, chunks)


def lists(n_items, seed, share):
    """A small stream of lists in chunks of any size, where a share of all neighbours is HISTORY's.

    Its items have any number of columns; the parts of numbers that no chunk names are zero.
    """
    rng = np.random.default_rng(seed)
    n, chunks = min(n_items, max(5000, n_items // 16)), columns(n_items, 40, rng)[:2]
    liked = np.array([i for i in HISTORY if i < n_items])
    votes = np.full(n, 15)
    for slot in range(6):
        numbers = np.where(rng.random(n) < share, rng.choice(liked, n), rng.integers(0, n_items, n))
        votes = rng.integers(0, votes + 1)
        numbers = np.where(votes, numbers, 0).astype(np.uint32)
        edges = np.unique([0, *rng.integers(0, n, 3), n]).tolist()
        for a, b in itertools.pairwise(edges):
            raw = slot_payload(numbers[a:b], votes[a:b], n_items)
            chunks.append((NEIGHBOURS, 0, slot, a, b - a, raw))
    ends = np.sort(rng.integers(1, n + 1, 40))[::-1].tolist()
    chunks += [(CODES, 0, c, 0, end, rng.bytes(end)) for c, end in enumerate(ends)]
    return seal(n_items, chunks)


def alternating():
    """Chunks of one column that end at every other place, so that tiles have many pieces."""
    rng, n = np.random.default_rng(0), 40_000
    chunks, step = columns(n, 125, rng)[:2], 4096
    for c in range(125):
        edges = [0, *range(1 + 31 * c, n, step), n]
        pieces = itertools.pairwise(edges)
        chunks += [(CODES, 0, c, a, b - a, rng.bytes(b - a)) for a, b in pieces if a < b]
    return seal(n, chunks)


def with_ids(kind, ids):
    """Two columns of items that have ids."""
    chunks = []
    for first in range(0, len(ids), 1000):
        some = ids[first : first + 1000]
        raw = struct.pack(f"<{len(some)}{'H' if kind == TEXT else 'Q'}", *map(
            len if kind == TEXT else int, some))  # fmt: skip
        raw += b"".join(some) if kind == TEXT else b""
        chunks.append((IDS, 0, 0, first, len(some), raw))
    chunks += columns(len(ids), 2, np.random.default_rng(0))
    return seal(len(ids), chunks, id_kind=kind)


def colliding_ids():
    """Ids that V8, which Node and Chromium have, would put into one place of a Map."""
    ids = unhashed(np.arange(1, 2 * N_IDS, dtype=np.uint64) << np.uint64(22))
    return with_ids(U64, ids[ids >= 2**53][:N_IDS].tolist())


def unhashed(values):
    """Numbers (uint64) whose hashes in V8 are these: each step of the hash turned round."""
    for shift, factor in ((22, 65), (11, 21)):
        values = unshifted(values, shift) * np.uint64(pow(factor, -1, 1 << 64))
    inverse = pow((1 << 18) - 1, -1, 1 << 64)
    return (unshifted(values, 31) + np.uint64(1)) * np.uint64(inverse)


def unshifted(values, shift):
    """Numbers that give these when each is shifted right and both are added without carry."""
    found = values
    for _ in range(64 // shift):
        found = values ^ found >> np.uint64(shift)
    return found


def alike_ids():
    """Texts that differ in few bytes, after many that are the same."""
    rng = np.random.default_rng(0)
    return with_ids(TEXT, [b"a" * 480 + b"%08dzzzz" % i for i in rng.permutation(N_TEXTS)])


def withdrawn_list():
    """An ordinary stream, and a list of 5 MB that withdraws its items."""
    n = 1_250_000
    return make_stream(n, 4)[0], withdrawn_file(range(n), model_id=MODEL_ID)


def likes(data):
    """The history for a stream, by its own ids."""
    with elasticrec_device.open(data) as stream:
        ids = stream.ids
        return [ids[i] for i in HISTORY if i < len(ids)]


CRAFTED = (
    tiny_chunks,
    many_columns,
    wide_columns,
    wide_alone,
    claimed_items,
    split_codebooks,
    colliding_ids,
    alike_ids,
    one_neighbour,
    liked_neighbours,
    near_misses,
    some_votes,
    many_levels,
    alternating,
)
HISTORY = range(0, 40_500, 900)
"""A history; ids that a stream does not have are skipped."""
