"""Writes the stream of a model's order: every prefix of it is a recommender."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from elasticrec.compression.codebooks import CODEWORDS
from elasticrec.compression.codes import WHOLE_GAIN, Codes
from elasticrec.compression.neighbours import Neighbours
from elasticrec.errors import InputError
from elasticrec.files import written_whole
from elasticrec.model import Model
from elasticrec.ordering.order import Order
from elasticrec.stream.chunk import StoredIds, link_to, seal, stored_ids
from elasticrec.stream.cutting import Cutter
from elasticrec.stream.format import LINK, MAX_COLUMNS, MAX_SLOTS, Head, check_float


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

    Args:
        weights: (C + 1, 2) vote weights of an item with so many columns, by history and by vector.
        ids: original ids in item order; None writes dense ids.
    """
    check_parts(codes, neighbours, weights)
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


def check_parts(codes: Codes, neighbours: Neighbours, weights: np.ndarray) -> None:
    """Refuse codes, neighbours and vote weights that do not fit together or the format."""
    C, V = codes.data.shape
    N = len(codes.empty) // 8
    if codes.data.dtype != np.uint8 or codes.columns.shape != (C, 3) or C > MAX_COLUMNS:
        raise InputError(
            f"{C} columns of {codes.data.dtype} described by {codes.columns.shape}, expected at "
            f"most {MAX_COLUMNS} of uint8 described by ({C}, 3)"
        )
    for number, book in enumerate(codes.codebooks):
        wide = book.ndim == 2 and book.shape[1] % 8 == 0 and 8 <= book.shape[1] <= 8 * N
        if book.dtype != np.int8 or len(book) != CODEWORDS or not wide:
            raise InputError(
                f"codebook {number} is {book.dtype} {book.shape}, expected int8 ({CODEWORDS}, w), "
                f"w a multiple of 8 up to {8 * N}"
            )
    widths = [book.shape[1] // 8 for book in codes.codebooks]
    wide = sum(widths[book] - 1 for book in codes.columns[:, 0].tolist() if book < len(widths))
    if wide > 16 * N:
        sums = f"sum to {wide}, expected at most {16 * N}"
        raise InputError(f"the widths of all columns, less 1, {sums}")
    _check_gains(codes.gains, C)
    if weights.shape != (C + 1, 2):
        raise InputError(f"vote weights {weights.shape}, expected ({C + 1}, 2)")
    for weight in weights.ravel().tolist():
        check_float("vote weight", weight)
    _check_neighbours(neighbours, V)


def _check_gains(gains: np.ndarray, n_columns: int) -> None:
    """Refuse gains that are not one of each column, 1 to 32,768."""
    if gains.dtype != np.uint16 or gains.shape != (n_columns,):
        raise InputError(
            f"gains {gains.dtype} {gains.shape}, expected uint16 ({n_columns},), one of each column"
        )
    wrong = gains[(gains < 1) | (gains > WHOLE_GAIN)].tolist()
    if wrong:
        raise InputError(f"a column of gain {wrong[0]}, expected 1 to {WHOLE_GAIN}")


def _check_neighbours(neighbours: Neighbours, n_items: int) -> None:
    """Refuse lists that break a rule of section 4."""
    numbers, votes = neighbours.numbers, neighbours.votes
    if numbers.shape != votes.shape or len(numbers) != n_items or numbers.shape[1] > MAX_SLOTS:
        raise InputError(
            f"neighbours {numbers.shape} with votes {votes.shape}, expected ({n_items}, S) both, "
            f"S at most {MAX_SLOTS}"
        )
    if not numbers.size:
        return
    if int(numbers.max()) >= n_items:
        raise InputError(f"neighbour {int(numbers.max())}, expected item numbers below {n_items}")
    if int(votes.max()) > 15 or bool((votes[:, 1:] > votes[:, :-1]).any()):
        raise InputError("votes above 15 or rising along a list, expected 15 to 0, falling")
    if bool(numbers[votes == 0].any()):
        raise InputError("an empty slot names a neighbour, expected number 0 where the vote is 0")


def write_stream_of(
    model: Model,
    path: Path,
    *,
    along: Order | None = None,
    id_kind: str = "dense",
    sequence: int | None = None,
) -> None:
    """Write a model's stream, along its own order or another one.

    Args:
        sequence: the stream's number, by which devices tell older ones; by default the model's.
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
