"""Settings of RULE. Every default is ours; each `printed` gives what the paper says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from elasticrec.errors import InputError
from elasticrec.evaluation.metrics import parse_metric

Kind = Literal["fm", "dnn"]
MUTATIONS = ("swap", "reselect", "move")
"""Names of all mutations; the first two are the paper's."""


@dataclass(frozen=True)
class SpaceConfig:
    """The space of compositions (Sec. 3), and how random ones are drawn (Alg. 1)."""

    kind: Literal["levels", "blocks"] = "levels"
    """A group takes one of the stream's levels, or any subset of N f32 blocks (the paper)."""
    groups: Literal["random", "popularity", "cluster"] = "popularity"
    """Way to group items (App. C); levels need `popularity`."""
    n_groups: int = 20
    """G."""
    pca: bool = False
    """`cluster` works on the first two principal components, as in the paper's figure."""
    cluster_rounds: int = 50
    """Rounds of k-means for `cluster`."""
    sigma: float = 1.0
    """Spread of blocks per group in Alg. 1; σ² = 1 in the paper."""
    spread: float = 0.35
    """Spread of levels per group, as a share of the level that suits the budget."""
    falling: float = 0.5
    """Share of the draws whose levels are sorted to fall from popular groups to rare ones."""
    n_levels: int = 32
    """Levels that a group chooses from, at most: the stream's, thinned evenly by growth."""
    n_features: int = 8
    """Numbers by which the estimator is told a level."""
    top_up: bool = True
    """Groups grow at random until nothing more fits; Alg. 1 leaves bytes unspent."""
    printed_mean: bool = False
    """Alg. 1's mean is M/(G·|V_g|), as printed, instead of M/G."""
    seed: int = 0
    """Decides random groups and the first centres of clusters."""

    def __post_init__(self) -> None:
        if self.kind not in ("levels", "blocks"):
            raise InputError(f"a space of {self.kind!r}, expected levels or blocks")
        if self.groups not in ("random", "popularity", "cluster"):
            raise InputError(
                f"groups by {self.groups!r}, expected one of random, popularity, cluster"
            )
        if self.kind == "levels" and self.groups != "popularity":
            raise InputError(f"levels group items by popularity, not by {self.groups!r}")
        for name, least in (
            ("n_groups", 1),
            ("n_levels", 2),
            ("n_features", 1),
            ("cluster_rounds", 1),
        ):
            if getattr(self, name) < least:
                raise InputError(f"{name} {getattr(self, name)}, expected at least {least}")
        if self.pca and self.groups != "cluster":
            raise InputError(f"pca is for groups by 'cluster', not by {self.groups!r}")
        if not self.sigma > 0 or not self.spread > 0:
            raise InputError(f"sigma {self.sigma}, spread {self.spread}: expected more than 0")

    @classmethod
    def printed(cls, seed: int = 0) -> SpaceConfig:
        """The paper's space: random groups, free blocks, Alg. 1 without top-up."""
        return cls(kind="blocks", groups="random", top_up=False, seed=seed)


@dataclass(frozen=True)
class SamplesConfig:
    """The samples that an estimator learns from (Alg. 3)."""

    n_samples: int = 400
    """β: compositions measured to fit on; 15,000 in the paper."""
    n_users: int = 1_000
    """μ: validation users on whom all of them are measured."""
    metric: str = "recall@50"
    """The measured metric: `recall`, `ndcg` or `hit` with a length."""
    seed: int = 0
    """Decides the users and, with its number, each draw."""

    def __post_init__(self) -> None:
        parse_metric(self.metric)
        if min(self.n_samples, self.n_users) < 1 or self.seed < 0:
            raise InputError(
                f"{self.n_samples} samples on {self.n_users} users by seed {self.seed}, "
                "expected at least 1 of each and a seed of 0 or more"
            )

    @classmethod
    def printed(cls) -> SamplesConfig:
        """The paper's: β = 15,000 compositions, μ = 1,000 users, Recall@100."""
        return cls(n_samples=15_000, n_users=1_000, metric="recall@100")


@dataclass(frozen=True)
class EstimatorConfig:
    """The estimator (Eq. 4 to 6), and candidates from which a two-fold check chooses."""

    kind: Kind = "fm"
    """`fm` (Eq. 5), or `dnn` (the paper's DNNEst)."""
    linear: bool = True
    """`fm` has a linear term, which Eq. 5 lacks."""
    widths: tuple[int, ...] = (16,)
    """Candidates for d0."""
    learning_rates: tuple[float, ...] = (0.01,)
    """Candidates for Adam's highest learning rate."""
    l2s: tuple[float, ...] = (1e-4, 1e-3, 1e-2)
    """Candidates for the weight of the squared norm of all parameters."""
    batch_size: int = 256
    """Samples per step."""
    steps: int = 600
    """Steps per round; the two-fold check takes one round per candidate and fold."""
    warmup: float = 0.1
    """Share of a round's steps over which the learning rate rises; then it falls to 0."""
    counted: float = 0.1
    """Share of a round's steps, its last ones, whose mean loss is the round's."""
    group_spread: float = 0.5
    """Spread of the first weights of one-hot groups, where those of codes have 1."""
    betas: tuple[float, float] = (0.9, 0.99)
    """Adam's decay rates."""
    max_rounds: int = 4
    """Rounds, each at half the last one's learning rate, after which the fit ends anyway."""
    converged: float = 0.02
    """The fit ends once a round lowers the loss by less than this share."""
    seed: int = 0
    """Of the folds, the first weights and the order of samples."""

    def __post_init__(self) -> None:
        if self.kind not in ("fm", "dnn"):
            raise InputError(f"an estimator of kind {self.kind!r}, expected fm or dnn")
        for name in ("widths", "learning_rates", "l2s"):
            values = getattr(self, name)
            if not values or min(values) < 0 or (name != "l2s" and min(values) == 0):
                raise InputError(f"{name} {values}, expected at least one positive number")
        if min(self.batch_size, self.steps, self.max_rounds) < 1:
            raise InputError("batch_size, steps and max_rounds must be positive")
        shares = self.warmup, self.counted
        if not all(0 < share <= 1 for share in shares) or not all(
            0 <= beta < 1 for beta in self.betas
        ):
            raise InputError(
                f"warmup {self.warmup}, counted {self.counted}, betas {self.betas}: "
                "expected two shares, and rates below 1"
            )

    @classmethod
    def printed(cls, width: int = 64) -> EstimatorConfig:
        """The paper's: Eq. 5 without a linear term, d0 as its appendix gives it."""
        return cls(
            linear=False,
            widths=(width,),
            learning_rates=(0.01, 0.005),
            l2s=(0.0, 1e-4, 1e-2),
            steps=1200,
        )


@dataclass(frozen=True)
class SearchConfig:
    """Length and width of the search (Alg. 2), and the choice of the best one."""

    population: int = 20
    """P: compositions kept alive."""
    tournament: int = 5
    """S: compositions drawn with replacement, the best of which becomes a parent."""
    rounds: int = 1_000
    """C: rounds of breeding, one child each; 50 in the paper."""
    mutations: tuple[str, ...] = MUTATIONS
    """Which mutations breed, each equally likely."""
    from_uniform: bool = True
    """The first population contains `uniform`: all groups alike."""
    remeasured: int = 4
    """So many of the best by estimate are measured again beside `uniform`; 0: the estimate decides.

    One of them is taken only if it leads `uniform` clearly (`evaluation.choosing`)."""
    doubt: float = 0.025
    """Chance by which one of them may replace `uniform` where none is better."""
    n_users: int = 10_000
    """Validation users, other than those of the samples where there are enough, who decide."""

    def __post_init__(self) -> None:
        for name in ("population", "tournament", "rounds", "n_users"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be positive, got {getattr(self, name)}")
        if self.remeasured < 0:
            raise InputError(f"remeasured must be 0 or more, got {self.remeasured}")
        odd = [name for name in self.mutations if name not in MUTATIONS]
        if odd or not self.mutations:
            raise InputError(f"mutations {self.mutations}, expected some of {', '.join(MUTATIONS)}")

    @classmethod
    def printed(cls, population: int = 20, tournament: int = 5, rounds: int = 50) -> SearchConfig:
        """The search as the paper prints it: two mutations, all random, the estimate decides."""
        return cls(population, tournament, rounds, ("swap", "reselect"), False, 0)


@dataclass(frozen=True)
class RuleConfig:
    """RULE from its search space to its search."""

    space: SpaceConfig = field(default_factory=SpaceConfig)
    samples: SamplesConfig = field(default_factory=SamplesConfig)
    estimator: EstimatorConfig = field(default_factory=EstimatorConfig)
    search: SearchConfig = field(default_factory=SearchConfig)

    @classmethod
    def printed(cls, width: int = 64, population: int = 20) -> RuleConfig:
        """All as printed; d0 and P are 64 and 20 on Amazon-Book, 128 and 50 on Yelp2020."""
        return cls(
            SpaceConfig.printed(),
            SamplesConfig.printed(),
            EstimatorConfig.printed(width),
            SearchConfig.printed(population),
        )
