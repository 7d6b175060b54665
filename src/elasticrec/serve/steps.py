"""Steps: the few sizes that bundles are made for; a budget is rounded down to one of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from elasticrec.errors import InputError
from elasticrec.space.budget import Budget

_TENTHS = (10, 11, 12, 13.5, 15, 17.5, 20, 22.5, 25, 27.5, 30, 35, 40, 45, 50, 55, 60, 70, 80, 90)
DEFAULT_STEPS = tuple(round(tenths * 10**power) for power in range(3, 9) for tenths in _TENTHS)
"""Twenty round sizes per decade from 10 KB up: rounding down loses 14 % at worst."""


def parse_steps(texts: Iterable[str]) -> tuple[int, ...]:
    """Rising bytes of sizes such as `500KB` and `5MB`."""
    return tuple(sorted({Budget.parse(text).n_bytes for text in texts}))


@dataclass(frozen=True)
class Steps:
    """The steps that make sense for one model."""

    sizes: tuple[int, ...]
    """Bytes, rising; the last holds the full model, where a step of the setting does."""

    def __post_init__(self) -> None:
        if not self.sizes:
            raise InputError("a model without steps, expected at least one")

    @classmethod
    def of(cls, steps: tuple[int, ...], least_bytes: int, full_bytes: int) -> Steps:
        """Those of the given steps that can hold something, up to the first that holds everything.

        Args:
            steps: rising bytes.
            least_bytes: the least that a bundle of use takes.
            full_bytes: what a bundle takes that keeps everything.
        """
        first, last = bisect_left(steps, least_bytes), bisect_left(steps, full_bytes)
        sizes = steps[first : last + 1]
        if not sizes:
            raise InputError(
                f"the largest step is {Budget(steps[-1])}, but the smallest bundle of this model "
                f"takes {least_bytes} bytes; expected larger steps"
            )
        return cls(sizes)

    def below(self, n_bytes: int) -> int | None:
        """The largest step within a budget; None where it is below the first."""
        at = bisect_right(self.sizes, n_bytes)
        return self.sizes[at - 1] if at else None

    def before(self, step: int) -> int | None:
        """The step before a step; None before the first."""
        at = bisect_left(self.sizes, step)
        return self.sizes[at - 1] if at else None
