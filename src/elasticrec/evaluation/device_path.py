"""How good a composition of a coded model is on a device, measured the way a device ranks.

Every reported number comes from here: a person known by history is folded in from what the
composition keeps, which evaluations by cached rows cannot do.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import torch

from elasticrec.data.errors import InputError
from elasticrec.evaluation.arithmetic import full_precision
from elasticrec.evaluation.coded import CodedModel, CodedScores
from elasticrec.evaluation.metrics import DEFAULT_METRICS
from elasticrec.evaluation.persons import folded_vectors, server_vectors
from elasticrec.evaluation.questions import Part, Questions, questions
from elasticrec.evaluation.ranking import Evaluation, evaluate_scores, users_at_once

if TYPE_CHECKING:
    from torch import Tensor

    from elasticrec.data.splitting import Split
    from elasticrec.space.composition import Composition


def measure_composition(
    model: CodedModel,
    composition: Composition,
    split: Split,
    *,
    person: str | None = None,
    part: Part = "test",
    metrics: Iterable[str] = DEFAULT_METRICS,
    users: np.ndarray | None = None,
    with_map: bool = False,
    withdrawn: np.ndarray | None = None,
    device: str = "auto",
    keep_per_user: bool = False,
) -> Evaluation:
    """How well a composition ranks what a part holds out, exactly, for everyone in it.

    A person's history is all that an evaluation hides from her list: what she took in train, and
    in validation too when testing.

    Args:
        person: `vector+history` or `history`; by default the model's own kind.
        users: numbers of the users to measure on; by default everyone.
        with_map: whether the bundle holds the D×D map for persons known by history.
        withdrawn: item numbers that are never listed.
        device: `auto`, `cpu` or `cuda`.
    """
    asked = questions(split, part, users)
    scores = device_scores(model, composition, asked, person, with_map=with_map, device=device)
    V = split.n_items
    size = users_at_once(V, scores.device)
    buffer = torch.empty((min(size, scores.n_users), V), device=scores.device)
    never = None if withdrawn is None else torch.as_tensor(withdrawn, dtype=torch.int64)

    def score_batch(start: int, stop: int) -> Tensor:
        out = buffer[: stop - start]
        for g, (lo, hi) in enumerate(pairwise(scores.bounds.tolist())):
            row, count = composition.depths[g], int(composition.neighbours[g])
            scores.write(out[:, lo:hi], g, row, count, start, stop)
        if never is not None:
            out[:, never.to(out.device)] = -torch.inf
        return out

    with full_precision():
        return evaluate_scores(
            score_batch,
            asked,
            metrics=metrics,
            batch_size=size,
            device=scores.device,
            keep_per_user=keep_per_user,
        )


def device_scores(
    model: CodedModel,
    composition: Composition | None,
    asked: Questions,
    person: str | None = None,
    *,
    with_map: bool = False,
    device: str = "cpu",
) -> CodedScores:
    """Scores of the persons asked about.

    Args:
        composition: what a history is folded in from; None for all planes.
        person, with_map, device: as in `measure_composition`.
    """
    if composition is not None:
        wanted = model.codes.n_groups, model.codes.n_blocks
        if composition.depths.shape != wanted:
            raise InputError(
                f"a composition of {composition.n_groups} groups of {composition.n_blocks} blocks, "
                f"expected {wanted[0]} groups of {wanted[1]}"
            )
    kind = person or model.person
    if kind == "history":
        vectors = folded_vectors(model, asked.seen, composition, with_map=with_map)
    else:
        vectors = server_vectors(model, asked.users)
    return CodedScores(model, vectors, asked.seen, kind, device=device)
