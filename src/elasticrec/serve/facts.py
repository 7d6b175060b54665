"""Facts about a bundle: those inside it, for people, and those beside it on the shelf."""

from __future__ import annotations

from typing import Any

from elasticrec.serve.course import Answer
from elasticrec.serve.models import Served
from elasticrec.space.composition import Composition

DIGITS = 6
"""Decimals of an estimate in a bundle: the last bits differ between processors, bundles may not."""


def inside(model: Served, step: int, answer: Answer) -> dict[str, Any]:
    """What a bundle says of itself."""
    estimate = round(answer.estimate, DIGITS)
    return {"name": model.name, "metric": model.metric, "estimate": estimate, "budget": step}


def beside(
    model: Served, step: int, answer: Answer, composition: Composition, file_bytes: int
) -> dict[str, Any]:
    """What the service says of a bundle."""
    return {
        "model": model.name,
        "model_id": model.model_id,
        "step": step,
        "file_bytes": file_bytes,
        "vector_bytes": model.vector_bytes,
        "metric": model.metric,
        "estimate": round(answer.estimate, DIGITS),
        "person": model.material.person,
        "trained": model.material.trained,
        "catalogue_sha256": model.catalogue_sha256,
        "composition": {
            "group_sizes": model.material.group_sizes.tolist(),
            "depths": composition.depths.tolist(),
            "neighbours": composition.neighbours.tolist(),
        },
    }
