"""The bundle of a composition: one file, copied together column by column."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from elasticrec.bundle.header import GROUP, ITEMS_PER_BYTE, PERSONS, SHAPE, Kind, assemble, record
from elasticrec.bundle.material import NO_CATALOGUE, Material
from elasticrec.data.errors import InputError
from elasticrec.data.files import written_whole
from elasticrec.space.composition import DEEPEST, Composition
from elasticrec.space.file_bytes import BLOCK, META_BYTES
from elasticrec.version import __version__

ABOUT = ("name", "metric", "quality", "estimate", "budget")
"""What a bundle says of itself to people, besides the version that wrote it; null if not given."""


def pack(
    material: Material,
    composition: Composition,
    *,
    about: Mapping[str, Any],
    withdrawn: Iterable[int] = (),
) -> bytes:
    """The bytes of the bundle that keeps a composition; equal inputs give equal bytes.

    Their number is `material.accounting(n_withdrawn).file_bytes(composition)`.

    Args:
        composition: of the menu's rows.
        about: plain facts for people, such as `name`, `metric`, `quality`, `estimate`, `budget`.
        withdrawn: numbers of items that shall never be listed.
    """
    choice = _choice(material, composition)
    hidden = _withdrawn(withdrawn, material.codes.n_items)
    codes, lists = material.codes, material.neighbours
    sections: dict[Kind, bytes] = {
        Kind.SHAPE: _shape(material),
        Kind.META: meta(about),
        Kind.GROUPS: _groups(material, composition, choice),
        Kind.MEANS: _little(codes.means, "f2") + _little(codes.person, "f2"),
        Kind.DECODE: b"".join(
            _little(array, "f4")
            for array in (codes.scales, codes.steps, codes.gain_values, lists.values)
        ),
        Kind.CODES: _codes(material, composition),
    }
    if composition.neighbours.any():
        kept = zip(material.slots, composition.neighbours.tolist(), strict=True)
        sections[Kind.NEIGHBOURS] = b"".join(b"".join(slots[:K]) for slots, K in kept)
    if material.fold_map is not None:
        sections[Kind.MAP] = _little(material.fold_map, "f2")
    if material.ids is not None:
        sections[Kind.IDS] = material.id_bytes
    if len(hidden):
        sections[Kind.WITHDRAWN] = _little(hidden, "u4")
    if codes.n_lists:
        sections[Kind.WORDS] = _little(codes.words, "i1") + _little(codes.letters, "i1")
    file = assemble(bytes.fromhex(material.model_id), sections)
    if ITEMS_PER_BYTE * len(file) < codes.n_items:
        raise InputError(
            f"a file of {len(file)} bytes for {codes.n_items} items keeps too little to be of use, "
            f"expected a composition of at least {-(-codes.n_items // ITEMS_PER_BYTE)} bytes"
        )
    return file


def write(
    path: Path | str,
    material: Material,
    composition: Composition,
    *,
    about: Mapping[str, Any],
    withdrawn: Iterable[int] = (),
) -> bytes:
    """The bytes that `pack` gives, after they were written to a file, whole or not at all."""
    content = pack(material, composition, about=about, withdrawn=withdrawn)
    with written_whole(path) as file:
        file.write(content)
    return content


def meta(about: Mapping[str, Any]) -> bytes:
    """The section META: JSON in 512 bytes; what does not fit, or is no JSON, is refused."""
    every = dict.fromkeys(ABOUT) | {"elasticrec": __version__} | dict(about)
    try:
        text = json.dumps(every, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        content = text.encode("utf-8")
    except (TypeError, ValueError) as error:
        raise InputError(f"what a bundle says of itself is no JSON: {error}") from None
    if len(content) > META_BYTES:
        raise InputError(
            f"what a bundle says of itself takes {len(content)} bytes, expected {META_BYTES} at "
            "most: give it a shorter name"
        )
    return content.ljust(META_BYTES)


def _choice(material: Material, composition: Composition) -> np.ndarray:
    """(G,) the menu's row of each group; what cannot be packed is refused."""
    expected = (material.codes.n_groups, material.codes.n_blocks)
    if composition.depths.shape != expected:
        found = composition.depths.shape
        raise InputError(
            f"a composition of {found[0]} groups of {found[1]} blocks, "
            f"expected {expected[0]} groups of {expected[1]} blocks"
        )
    if composition.depths.max() > DEEPEST:
        raise InputError(
            f"a composition of depth {composition.depths.max()}, a bundle holds planes: "
            f"expected depths of 0 to {DEEPEST}"
        )
    return material.menu.choice_of(composition)


def _withdrawn(numbers: Iterable[int], n_items: int) -> np.ndarray:
    """Rising item numbers, each once."""
    rising = np.unique(np.array(list(numbers), dtype=np.int64))
    if len(rising) and not (rising[0] >= 0 and rising[-1] < n_items):
        raise InputError(
            f"withdrawn items {rising[0]} to {rising[-1]}, expected numbers of {n_items} items"
        )
    return rising


def _shape(material: Material) -> bytes:
    """The section SHAPE."""
    codes = material.codes
    found = {
        "n_items": codes.n_items,
        "n_groups": codes.n_groups,
        "n_blocks": codes.n_blocks,
        "block_size": BLOCK,
        "id_kind": int(material.id_kind),
        "person": PERSONS.index(material.person),
        "by_root": int(material.mixing.by_root),
        "n_lists": codes.n_lists,
        "trained": material.trained,
        "catalogue": material.catalogue_sha256 or NO_CATALOGUE,
    }
    return record(SHAPE, found)


def _groups(material: Material, composition: Composition, choice: np.ndarray) -> bytes:
    """The section GROUPS: an entry per group, then all depths."""
    weights = material.mixing.weights[choice]  # (G, 2) by vector, by history
    entries = [
        record(
            GROUP,
            {
                "size": int(size),
                "neighbours": int(K),
                "by_vector": float(by_vector),
                "by_history": float(by_history),
            },
        )
        for size, K, (by_vector, by_history) in zip(
            material.group_sizes, composition.neighbours, weights, strict=True
        )
    ]
    return b"".join(entries) + composition.depths.tobytes()


def _codes(material: Material, composition: Composition) -> bytes:
    """The section CODES: of each group its gains, then the kept planes of each block."""
    codes = material.codes
    columns = []
    for g, depths in enumerate(composition.depths):
        if depths.any():
            items = slice(codes.bounds[g], codes.bounds[g + 1])
            columns.append(codes.gains[codes.row_of(depths), items])
            columns += [codes.planes[n, p, items] for n, b in enumerate(depths) for p in range(b)]
    return b"".join(column.tobytes() for column in columns)


def _little(array: np.ndarray, code: str) -> bytes:
    """The numbers of an array, little-endian, in one of numpy's types such as `f4`."""
    return np.ascontiguousarray(array, dtype=f"<{code}").tobytes()
