"""Negotiation: what a client may ask for and how it is spelled, and what it wants to get."""

from __future__ import annotations

import re

from elasticrec.errors import InputError
from elasticrec.serve.problems import Problem
from elasticrec.space.budget import Budget

BUDGET = r"^([0-9]{1,18}|[0-9]{1,9}(\.[0-9]{1,9})? ?([kKmMgG][iI]?)?[bB])$"
"""How budgets are spelled in queries."""
BUNDLE = "application/vnd.elasticrec.bundle"
PATCH = "application/vnd.elasticrec.patch"
VECTOR = "application/vnd.elasticrec.vector"
JSON = "application/json"


def wants_json(accept: str | None) -> bool:
    """Whether an Accept header names JSON, and no bundle before it."""
    weights = {JSON: 0.0, BUNDLE: 0.0}
    for entry in (accept or "").split(","):
        kind, *parameters = (part.strip().lower() for part in entry.split(";"))
        if kind in weights:
            weights[kind] = max(weights[kind], _weight(parameters))
    return weights[JSON] > 0 and weights[JSON] >= weights[BUNDLE]


def parse_budget(text: str) -> Budget:
    """The budget that a query spells; less than a byte is as good as one: too small."""
    try:
        return Budget.parse(text)
    except InputError as error:
        number = re.match(r"[0-9]+(\.[0-9]+)?", text)
        if number is not None and float(number[0]) < 1:
            return Budget(1)
        raise Problem("malformed", str(error)) from None


def _weight(parameters: list[str]) -> float:
    """The q of an entry; 1 where it has none, 0 where it is malformed."""
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                weight = float(parameter[2:])
            except ValueError:
                return 0.0
            return weight if 0 <= weight <= 1 else 0.0
    return 1.0
