"""Writes the stream of a model's order: every prefix of it is a recommender."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from elasticrec.compression.codes import Codes
from elasticrec.compression.neighbours import Neighbours
from elasticrec.files import written_whole
from elasticrec.model import Model
from elasticrec.ordering.order import Order
from elasticrec.stream.chunk import StoredIds, link_to, seal, stored_ids
from elasticrec.stream.cutting import Cutter
from elasticrec.stream.format import LINK, MAX_COLUMNS, MAX_SLOTS, Head, check_float, need


@dataclass(frozen=True)
class Facts:
    """Fields of the head that codes and neighbours do not know."""

    model_id: str
    """Hex sha256."""
    least_climbs: int
    """Climbs of the order in the smallest useful prefix."""
    trained: int = 0
    """Seconds since 1970-01-01 UTC."""
    sequence: int = 0
    vector_person: bool = False
    """The model was trained for persons with a server vector."""
    support: int = 0
    """Fewest distinct persons behind every neighbour; 0 where it is not known."""
    catalogue: str | None = None
    """Hex sha256 of the catalogue file."""


def stream_parts(
    codes: Codes,
    neighbours: Neighbours,
    weights: np.ndarray,
    order: Order,
    *,
    facts: Facts,
    ids: StoredIds | None = None,
) -> list[bytes]:
    """The head and the chunks of an order's stream; equal inputs give equal bytes.
    The (C + 1, 2) vote weights are those of items with so many columns, by history and by vector.
    """
    check_limits(codes, neighbours, weights)
    cutter = Cutter(codes, neighbours, weights, ids)
    chunks = cutter.cut(order, facts.least_climbs)
    link, sealed = bytes(LINK), []
    for header, payload in reversed(chunks):
        sealed.append(seal(header, payload, link))
        link = link_to(sealed[-1])
    head = Head(
        n_blocks=len(codes.empty) // 8, n_items=cutter.n_items, least=cutter.least,
        length=cutter.at, model_id=bytes.fromhex(facts.model_id),
        votes=tuple(int(value) for value in neighbours.values),
        popularity=np.asarray(codes.popularity, dtype=np.uint8).tobytes(),
        empty=np.asarray(codes.empty, dtype=np.int8).tobytes(), unit=float(codes.unit),
        recency=float(codes.recency), weights=(float(weights[0, 0]), float(weights[0, 1])),
        id_kind=0 if ids is None else ids.number, cosine=codes.cosine,
        vector_person=facts.vector_person, support=facts.support, sequence=facts.sequence,
        trained=facts.trained,
        catalogue=bytes(32) if facts.catalogue is None else bytes.fromhex(facts.catalogue),
        link=link,
    )  # fmt: skip
    return [head.pack(), *reversed(sealed)]


def check_limits(codes: Codes, neighbours: Neighbours, weights: np.ndarray) -> None:
    """Refuse what settings can ask for and the format cannot hold."""
    blocks, slots = len(codes.empty) // 8, neighbours.numbers.shape[1]
    wide = sum(codes.codebooks[book].shape[1] // 8 - 1 for book in codes.columns[:, 0].tolist())
    for what, n, most in (
        ("columns", len(codes.columns), MAX_COLUMNS),
        ("slots of neighbours", slots, MAX_SLOTS),
        ("blocks that columns cover beyond their first one", wide, 16 * blocks),
    ):
        need(n <= most, f"{n} {what}, expected at most {most}")
    for weight in weights.ravel().tolist():
        check_float("vote weight", weight)


def write_stream_of(
    model: Model,
    path: Path,
    *,
    along: Order | None = None,
    id_kind: str = "dense",
    sequence: int | None = None,
) -> None:
    """Write a model's stream, along its own order and with its own number unless others are given.

    By its number devices tell an older stream.
    """
    trained = datetime.fromisoformat(model.about["trained"]).replace(tzinfo=UTC)
    climbs = model.order if along is None else along
    facts = Facts(
        model_id=model.id, least_climbs=climbs.least, trained=int(trained.timestamp()),
        sequence=model.about.get("sequence", 0) if sequence is None else sequence,
        vector_person=model.table.users is not None, support=model.neighbours.min_support,
        catalogue=model.hash_of("catalogue"),
    )  # fmt: skip
    ids = None if id_kind == "dense" else stored_ids(model.split.item_ids, id_kind)
    parts = model.codes, model.neighbours, model.weights, climbs
    with written_whole(path) as file:
        file.writelines(stream_parts(*parts, facts=facts, ids=ids))
