"""Settings of the estimator: what is measured, what is fitted. Imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass

from elasticrec.errors import InputError
from elasticrec.rule.estimator.model import Kind
from elasticrec.evaluation.metrics import parse_metric


@dataclass(frozen=True)
class SamplesConfig:
    """What the estimator learns from (Alg. 3), and what it is judged by."""

    n_samples: int = 15_000
    """β: compositions measured to fit on."""
    n_found: int = 0
    """Compositions that searches by a first fit look at, measured for a second one; 0 in Alg. 3.

    A search finds where an estimator errs upwards; there it is held to what was measured."""
    n_users: int = 1_000
    """μ: validation users on whom all of them are measured."""
    metric: str = "recall@100"
    """What is measured: `recall`, `ndcg` or `hit` with a length."""
    n_held_out: int = 200
    """Compositions of each held-out budget, measured but never fitted on."""
    held_out: tuple[float, ...] = (10.9, 21.8, 54.6, 109.2, 272.9)
    """Held-out budgets in bytes per item: what 1, 2, 5, 10 and 25 MB grant on Amazon-Book.

    Those that leave nothing to choose are skipped."""
    even: float | None = None
    """The share of weight spread evenly over groups; None: as suits the split."""
    seed: int = 0
    """Decides the users and, with its number, each draw."""

    def __post_init__(self) -> None:
        parse_metric(self.metric)
        if min(self.n_samples, self.n_users) < 1:
            raise InputError(
                f"{self.n_samples} samples on {self.n_users} users, expected at least 1 of each"
            )
        if min(self.n_found, self.n_held_out, self.seed) < 0 or min(self.held_out, default=1) <= 0:
            raise InputError(
                "n_found, n_held_out and seed must not be negative, held_out must be positive"
            )


@dataclass(frozen=True)
class EstimatorConfig:
    """What is fitted, and what the two-fold check chooses from, one setting after the other."""

    kind: Kind = "fm"
    """`fm` (Eq. 5) or `dnn` (DNNEst)."""
    linear: bool = True
    """Whether `fm` has a linear term, which Eq. 5 lacks."""
    smooth: int = 0
    """Of how many curves over the groups' order `fm` makes what depends on the group; 0: any."""
    widths: tuple[int, ...] = (32, 64)
    """Candidates for d0."""
    learning_rates: tuple[float, ...] = (0.01, 0.005)
    """Candidates for Adam's highest learning rate."""
    l2s: tuple[float, ...] = (0.0, 1e-4, 1e-2)
    """Candidates for the weight of the squared norm of all parameters."""
    batch_size: int = 256
    """Samples per step."""
    steps: int = 1200
    """Steps per round; the two-fold check takes one round per candidate and fold."""
    max_rounds: int = 4
    """Rounds, each at half the last one's learning rate, after which the fit ends anyway."""
    converged: float = 0.02
    """The loss counts as converged once a round lowers it by less than this share."""
    seed: int = 0
    """Of the folds, the first weights and the order of samples."""

    def __post_init__(self) -> None:
        if self.kind not in ("fm", "dnn"):
            raise InputError(f"an estimator of kind {self.kind!r}, expected fm or dnn")
        for name in ("widths", "learning_rates", "l2s"):
            values = getattr(self, name)
            if not values or min(values) < 0 or (name != "l2s" and min(values) == 0):
                raise InputError(f"{name} {values}, expected at least one positive number")
        if min(self.batch_size, self.steps, self.max_rounds) < 1 or self.smooth < 0:
            raise InputError("batch_size, steps and max_rounds must be positive, smooth 0 or more")

    @classmethod
    def printed(cls, width: int) -> EstimatorConfig:
        """The paper's: Eq. 5 without a linear term, d0 as its appendix gives it."""
        return cls(linear=False, widths=(width,))
