"""Settings of RULE. Every default is ours; each `printed` gives what the paper says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from elasticrec.errors import InputError
from elasticrec.evaluation.metrics import parse_metric
from elasticrec.settings import (
    Chance,
    Count,
    Positive,
    Range,
    Rate,
    Rounds,
    Seed,
    Settings,
    Share,
    Weight,
)

Kind = Literal["fm", "dnn"]
Mutation = Literal["swap", "reselect", "move"]
MUTATIONS: tuple[Mutation, ...] = ("swap", "reselect", "move")
"""Names of all mutations; the first two are the paper's."""


@dataclass(frozen=True, repr=False)
class SpaceConfig(Settings):
    """The space of compositions (Sec. 3), and how random ones are drawn (Alg. 1)."""

    kind: Literal["levels", "blocks"] = "levels"
    """A group takes one of the stream's levels, or any subset of N f32 blocks (the paper)."""
    groups: Literal["random", "popularity", "cluster"] = "popularity"
    """Way to group items (App. C); levels need `popularity`."""
    n_groups: Annotated[int, Range(1, 10000)] = 20
    """G."""
    pca: bool = False
    """`cluster` works on the first two principal components, as in the paper's figure."""
    cluster_rounds: Rounds = 50
    """Rounds of k-means for `cluster`."""
    sigma: Positive = 1.0
    """Spread of blocks per group in Alg. 1; σ² = 1 in the paper."""
    spread: Positive = 0.35
    """Spread of levels per group, as a share of the level that suits the budget."""
    falling: Share = 0.5
    """Share of the draws whose levels are sorted to fall from popular groups to rare ones."""
    n_levels: Annotated[int, Range(2, 1000)] = 32
    """Levels that a group chooses from, at most: the stream's, thinned evenly by growth."""
    n_features: Annotated[int, Range(1, 1000)] = 8
    """Numbers by which the estimator is told a level."""
    top_up: bool = True
    """Groups grow at random until nothing more fits; Alg. 1 leaves bytes unspent."""
    printed_mean: bool = False
    """Alg. 1's mean is M/(G·|V_g|), as printed, instead of M/G."""
    seed: Seed = 0
    """Decides random groups and the first centres of clusters."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind == "levels" and self.groups != "popularity":
            raise InputError(f"levels group items by popularity, not by {self.groups!r}")
        if self.pca and self.groups != "cluster":
            raise InputError(f"pca is for groups by 'cluster', not by {self.groups!r}")

    @classmethod
    def printed(cls, seed: int = 0) -> SpaceConfig:
        """The paper's space: random groups, free blocks, Alg. 1 without top-up."""
        return cls(kind="blocks", groups="random", top_up=False, seed=seed)


@dataclass(frozen=True, repr=False)
class SamplesConfig(Settings):
    """The samples that an estimator learns from (Alg. 3)."""

    n_samples: Annotated[int, Range(1, 10**7)] = 400
    """β: compositions measured to fit on; 15,000 in the paper."""
    n_users: Count = 1_000
    """μ: validation users on whom all of them are measured."""
    metric: str = "recall@50"
    """The measured metric: `recall`, `ndcg` or `hit` with a length."""
    seed: Seed = 0
    """Decides the users and, with its number, each draw."""

    def __post_init__(self) -> None:
        super().__post_init__()
        parse_metric(self.metric)

    @classmethod
    def printed(cls) -> SamplesConfig:
        """The paper's: β = 15,000 compositions, μ = 1,000 users, Recall@100."""
        return cls(n_samples=15_000, n_users=1_000, metric="recall@100")


@dataclass(frozen=True, repr=False)
class EstimatorConfig(Settings):
    """The estimator (Eq. 4 to 6), and candidates from which a two-fold check chooses."""

    kind: Kind = "fm"
    """`fm` (Eq. 5), or `dnn` (the paper's DNNEst)."""
    linear: bool = True
    """`fm` has a linear term, which Eq. 5 lacks."""
    widths: tuple[Annotated[int, Range(1, 4096)], ...] = (16,)
    """Candidates for d0."""
    learning_rates: tuple[Annotated[float, Range(1e-9, 10)], ...] = (0.01,)
    """Candidates for Adam's highest learning rate."""
    l2s: tuple[Weight, ...] = (1e-4, 1e-3, 1e-2)
    """Candidates for the weight of the squared norm of all parameters."""
    batch_size: Annotated[int, Range(1, 2**20)] = 256
    """Samples per step."""
    steps: Annotated[int, Range(1, 10**7)] = 600
    """Steps per round; the two-fold check takes one round per candidate and fold."""
    warmup: Chance = 0.1
    """Share of a round's steps over which the learning rate rises; then it falls to 0."""
    counted: Chance = 0.1
    """Share of a round's steps, its last ones, whose mean loss is the round's."""
    group_spread: Weight = 0.5
    """Spread of the first weights of one-hot groups, where those of codes have 1."""
    betas: tuple[Rate, Rate] = (0.9, 0.99)
    """Adam's decay rates."""
    max_rounds: Rounds = 4
    """Rounds, each at half the last one's learning rate, after which the fit ends anyway."""
    converged: Share = 0.02
    """The fit ends once a round lowers the loss by less than this share."""
    seed: Seed = 0
    """Of the folds, the first weights and the order of samples."""

    @classmethod
    def printed(cls, width: int = 64) -> EstimatorConfig:
        """The paper's: Eq. 5 without a linear term, d0 as its appendix gives it."""
        return cls(
            linear=False, widths=(width,), learning_rates=(0.01, 0.005), l2s=(0.0, 1e-4, 1e-2),
            steps=1200,
        )  # fmt: skip


@dataclass(frozen=True, repr=False)
class SearchConfig(Settings):
    """Length and width of the search (Alg. 2), and the choice of the best one."""

    population: Annotated[int, Range(1, 10**6)] = 20
    """P: compositions kept alive."""
    tournament: Annotated[int, Range(1, 10**6)] = 5
    """S: compositions drawn with replacement, the best of which becomes a parent."""
    rounds: Annotated[int, Range(1, 10**7)] = 1_000
    """C: rounds of breeding, one child each; 50 in the paper."""
    mutations: tuple[Mutation, ...] = MUTATIONS
    """Which mutations breed, each equally likely."""
    from_uniform: bool = True
    """The first population contains `uniform`: all groups alike."""
    remeasured: Annotated[int, Range(0, 1000)] = 4
    """So many of the best by estimate are measured again beside `uniform`; 0: the estimate decides.

    One of them is taken only if it leads `uniform` clearly (`evaluation.choosing`)."""
    doubt: Chance = 0.025
    """Chance by which one of them may replace `uniform` where none is better."""
    n_users: Count = 10_000
    """Validation users, other than those of the samples where there are enough, who decide."""

    @classmethod
    def printed(cls, population: int = 20, tournament: int = 5, rounds: int = 50) -> SearchConfig:
        """The search as the paper prints it: two mutations, all random, the estimate decides."""
        return cls(population, tournament, rounds, ("swap", "reselect"), False, 0)


@dataclass(frozen=True, repr=False)
class RuleConfig(Settings):
    """RULE from its search space to its search."""

    space: SpaceConfig = field(default_factory=SpaceConfig)
    samples: SamplesConfig = field(default_factory=SamplesConfig)
    estimator: EstimatorConfig = field(default_factory=EstimatorConfig)
    search: SearchConfig = field(default_factory=SearchConfig)

    @classmethod
    def printed(cls, width: int = 64, population: int = 20) -> RuleConfig:
        """All as printed; d0 and P are 64 and 20 on Amazon-Book, 128 and 50 on Yelp2020."""
        return cls(
            SpaceConfig.printed(), SamplesConfig.printed(), EstimatorConfig.printed(width),
            SearchConfig.printed(population),
        )  # fmt: skip
