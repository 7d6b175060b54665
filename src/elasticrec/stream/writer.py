"""Writes the stream of a model's order: every prefix of it is a recommender."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elasticrec.files import written_whole
from elasticrec.stream.chunk import link_to, seal
from elasticrec.stream.cutting import Cutter
from elasticrec.stream.format import LINK, Head
from elasticrec.stream.ids import StoredIds
from elasticrec.stream.payloads import check_parts

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from elasticrec.compression.codes import Codes
    from elasticrec.compression.neighbours import Neighbours
    from elasticrec.ordering.order import Order


@dataclass(frozen=True)
class Facts:
    """Fields of the head that codes and neighbours do not know."""

    model_id: str
    """Hex sha256."""
    least_steps: int
    """Steps of the order in the smallest useful prefix."""
    trained: int = 0
    """Seconds since 1970-01-01 UTC."""
    sequence: int = 0
    vector_person: bool = False
    """The model was trained for persons with a server vector."""
    support: int = 0
    """Fewest distinct persons behind every neighbour; 0 where it is not known."""
    catalogue: str | None = None
    """Hex sha256 of the catalogue file."""


def write_stream(
    path: Path | str,
    codes: Codes,
    neighbours: Neighbours,
    weights: np.ndarray,
    order: Order,
    *,
    facts: Facts,
    ids: StoredIds | None = None,
    key: Ed25519PrivateKey | None = None,
) -> None:
    """Write the stream of an order, whole or not at all; equal inputs give equal bytes.

    Args:
        weights: (C + 1, 2) vote weights of an item with so many columns, by history and by vector.
        ids: original ids in item order; None writes dense ids.
        key: signs the head.
    """
    parts = stream_parts(codes, neighbours, weights, order, facts=facts, ids=ids, key=key)
    with written_whole(path) as file:
        file.writelines(parts)


def stream_parts(
    codes: Codes,
    neighbours: Neighbours,
    weights: np.ndarray,
    order: Order,
    *,
    facts: Facts,
    ids: StoredIds | None = None,
    key: Ed25519PrivateKey | None = None,
) -> list[bytes]:
    """The head and the chunks of a stream, in order."""
    check_parts(codes, neighbours, weights)
    cutter = Cutter(codes, neighbours, weights, ids)
    chunks = cutter.cut(order, facts.least_steps)
    link, sealed = bytes(LINK), []
    for header, payload in reversed(chunks):
        sealed.append(seal(header, payload, link))
        link = link_to(sealed[-1])
    head = Head(
        n_blocks=len(codes.empty) // 8,
        n_items=cutter.n_items,
        least=cutter.least,
        length=cutter.at,
        model_id=bytes.fromhex(facts.model_id),
        votes=tuple(int(value) for value in neighbours.values),
        popularity=np.asarray(codes.popularity, dtype=np.uint8).tobytes(),
        empty=np.asarray(codes.empty, dtype=np.int8).tobytes(),
        unit=float(codes.unit),
        recency=float(codes.recency),
        weights=(float(weights[0, 0]), float(weights[0, 1])),
        id_kind=0 if ids is None else ids.number,
        cosine=codes.cosine,
        vector_person=facts.vector_person,
        support=facts.support,
        sequence=facts.sequence,
        trained=facts.trained,
        catalogue=bytes(32) if facts.catalogue is None else bytes.fromhex(facts.catalogue),
        link=link,
    )
    if key is not None:
        from elasticrec.stream.signing import sign_head

        head = sign_head(head, key)
    return [head.pack(), *reversed(sealed)]
