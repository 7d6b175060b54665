"""Mutations of a bundle, half blind, half aimed at its fields; checksums are made right again."""

import struct

import numpy as np

from elasticrec.bundle.header import ENTRY, GROUP, PREFIX, SHAPE, Kind, Layout
from elasticrec.space.file_bytes import slot_bytes
from tests.bundle.damage import Draft, seal

FLOATS = {
    "e": [0.0, -0.0, 1.0, -1.0, 65504.0, -65504.0, float("inf"), float("nan"), 6e-8],
    "f": [0.0, -0.0, 1.0, -1.0, 1e6, -1e6, 1.0001e6, 3e38, float("inf"), float("nan"), 1e-45],
}
MOST_ITEMS = 3000
"""Larger counts are claimed, but no sections are made for them."""
WIDTHS = {"B": 1, "H": 2, "I": 4, "Q": 8}


def mutated(file, rng):
    """A bundle with something changed, whose checksums are right."""
    kind = rng.integers(4)
    if kind < 2:
        return seal(blind(file, rng))
    return seal(poked(file, rng)) if kind == 2 else reshaped(file, rng)


def blind(file, rng):
    """Some bytes flipped, overwritten, moved, cut off, inserted or taken away."""
    out = bytearray(file)
    for _ in range(rng.integers(1, 5)):
        at = int(rng.integers(len(out)))
        length = int(rng.integers(1, 17))
        match rng.integers(6):
            case 0 | 1:
                out[at] ^= 1 << int(rng.integers(8))
            case 2:
                out[at : at + length] = rng.bytes(len(out[at : at + length]))
            case 3:
                source = int(rng.integers(len(out)))
                moved = out[source : source + length]
                out[at : at + len(moved)] = moved
            case 4:
                del out[at : at + length]
            case 5:
                out[at:at] = rng.bytes(length)
    if len(out) != len(file) and len(out) >= 24 and rng.integers(2):
        struct.pack_into("<Q", out, 16, len(out))
    return out


def poked(file, rng):
    """One to three fields with another value, the layout left alone."""
    out = bytearray(file)
    places = fields(Layout.of(file), file)
    for _ in range(rng.integers(1, 4)):
        at, code = places[int(rng.integers(len(places)))]
        poke(out, at, code, rng)
    return out


def poke(part, at, code, rng):
    """Write a value that may be trouble into one field."""
    if code in FLOATS:
        choice = FLOATS[code]
        value = choice[int(rng.integers(len(choice)))]
    else:
        top = 256 ** WIDTHS[code]
        (old,) = struct.unpack_from("<" + code, part, at)
        choice = [
            0,
            1,
            top - 1,
            top // 2,
            old + 1,
            old - 1,
            2 * old,
            int(rng.integers(min(top, 300))),
        ]
        value = choice[int(rng.integers(len(choice)))] % top
    struct.pack_into("<" + code, part, at, value)


def fields(layout, file):
    """(offset, struct code) of the fields of a sound bundle, each record equally often."""
    found = [(each.offset, each.code) for each in PREFIX]
    for number in range(len(layout.sections)):
        found += [(64 + 32 * number + each.offset, each.code) for each in ENTRY]
    shape, groups = layout.sections[Kind.SHAPE][0], layout.sections[Kind.GROUPS][0]
    found += [(shape + each.offset, each.code) for each in SHAPE] * 3
    for g in range(len(layout.sizes)):
        found += [(groups + 16 * g + each.offset, each.code) for each in GROUP]
    found += [(groups + 16 * len(layout.sizes) + i, "B") for i in range(layout.depths.size)]
    for kind, code, step in (
        (Kind.MEANS, "e", 10),
        (Kind.DECODE, "f", 12),
        (Kind.CODES, "B", 19),
        (Kind.NEIGHBOURS, "B", 5),
        (Kind.MAP, "e", 26),
        (Kind.IDS, "I", 4),
        (Kind.WITHDRAWN, "I", 4),
        (Kind.WORDS, "B", 127),
        (Kind.META, "B", 37),
    ):
        at, length = layout.sections.get(kind, (0, 0))
        width = struct.calcsize(code)
        found += [(at + i, code) for i in range(0, length - width + 1, max(step, width))]
    return [(at, code) for at, code in found if code[-1] != "s"]


def reshaped(file, rng):
    """Counts and contents changed, and all sections as long as the new counts say."""
    draft = Draft(file)
    for _ in range(rng.integers(1, 4)):
        match rng.integers(6):
            case 0:
                part = draft.sections.get(list(Kind)[int(rng.integers(len(Kind)))])
                if part:
                    part[int(rng.integers(len(part)))] = int(rng.integers(256))
            case 1:
                names = ("n_blocks", "n_lists", "id_kind", "person", "by_root")
                name = names[int(rng.integers(len(names)))]
                most = {"n_blocks": 6, "n_lists": 6, "id_kind": 4}.get(name, 2)
                draft.put("shape", name, int(rng.integers(0, most + 1)))
            case 2:
                g = int(rng.integers(len(draft.layout.sizes)))
                draft.put("group", "neighbours", int(rng.integers(0, 18)), at=16 * g)
            case 3:
                at = int(rng.integers(16 * len(draft.layout.sizes), len(draft[Kind.GROUPS])))
                draft.pack(Kind.GROUPS, "B", at, int(rng.integers(0, 10)))
            case 4:
                g = int(rng.integers(len(draft.layout.sizes)))
                size = int(draft.layout.sizes[g] * rng.choice([0.5, 1, 1.5, 3]) + rng.integers(2))
                draft.put("group", "size", size, at=16 * g)
            case 5:
                kinds = (Kind.MAP, Kind.IDS, Kind.WITHDRAWN, Kind.NEIGHBOURS, Kind.WORDS)
                draft.sections.pop(kinds[int(rng.integers(len(kinds)))], None)
    fit(draft, rng)
    return draft.file()


def fit(draft, rng):
    """Give every section the length that SHAPE and GROUPS ask for."""
    N, id_kind, K = (draft[Kind.SHAPE][at] for at in (6, 9, 12))
    G = len(draft.layout.sizes)
    entries = draft[Kind.GROUPS][: 16 * G]
    sizes = [struct.unpack_from("<I", entries, 16 * g)[0] for g in range(G)]
    counts = [entries[16 * g + 4] for g in range(G)]
    V = sum(sizes)
    if V > MOST_ITEMS:
        return  # a wild size: nothing is made to fit it
    struct.pack_into("<I", draft[Kind.SHAPE], 0, V)
    resize(draft, Kind.GROUPS, G * (16 + N), rng, most=9)
    depths = np.frombuffer(bytes(draft[Kind.GROUPS][16 * G :]), np.uint8).reshape(G, N)
    planes = depths.sum(axis=1, dtype=np.int64)
    resize(draft, Kind.MEANS, (G + 1) * 16 * N, rng, most=60)
    if 8 * N + 1232 != len(draft[Kind.DECODE]):
        draft.sections[Kind.DECODE] = struct.pack("<f", 0.5) * 2 * N + draft[Kind.DECODE][-1232:]
    resize(draft, Kind.CODES, int(((planes + (planes > 0)) * sizes).sum()), rng)
    if V and any(counts):
        length = int((slot_bytes(V, np.array(sizes)) * counts).sum())
        resize(draft, Kind.NEIGHBOURS, length, rng, most=1)
    if Kind.MAP in draft.sections:
        resize(draft, Kind.MAP, 128 * N * N, rng, most=60)
    if K:
        resize(draft, Kind.WORDS, 32 * 8 * N * K + 2048, rng)
    if id_kind in (1, 2):
        resize(draft, Kind.IDS, 4 * id_kind * V, rng)


def resize(draft, kind, length, rng, most=256):
    """Cut a section, or lengthen it by random bytes below `most`."""
    part = bytes(draft.sections.get(kind, b""))[: max(0, length)]
    more = rng.integers(0, most, max(0, length - len(part)), dtype=np.uint8).tobytes()
    draft.sections[kind] = bytearray(part + more)
