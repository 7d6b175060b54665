"""Tasks of Table 2: one method with one setting and one seed at some sizes, and its plan."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments import plans

if TYPE_CHECKING:
    from elasticrec.evaluation.questions import Part

OURS = "ours"
SCORES = {"rule-printed": "tiled", "rule-aligned": "aligned"}
"""The paper's method by our name, and how its blocks meet a user."""
PRESET_METRIC = "recall@50"
"""What ours chooses weights and compositions by where nothing else is said."""
CHOSEN_BY = "both@50"
"""What it chooses them by in Table 2: the best of the rehearsal (`experiments.rehearsal`)."""
CHOSEN_OTHERWISE = {"yelp2018": "both@100"}
"""Data sets whose own, later rehearsal found another metric better."""
CHOOSER = "chooser"
"""Of ours: the name of what differs in the settings of the training that chooses."""
EVEN = "even"
"""Of ours: the name of the share of validation that is spread evenly where votes are weighed."""
MEASURED = "measured"
"""Of ours: whether the search ranks all candidates by validation, not by the estimator."""
PERSON = "vector+history"
"""Whom ours is compared for: a person with a vector from the server and a history."""
LIBRARY = (OURS, *SCORES)
"""What the library itself fits; all others are baselines."""
NEIGHBOURS_ALONE = ("itemcf", "sparse-linear")
"""Rivals without vectors; all others are dense."""
ONCE = ("matryoshka", "pruning", "faiss-pq", *NEIGHBOURS_ALONE)
"""Rivals that one training serves at all sizes."""
RULE_TRIALS: list[dict[str, Any]] = [
    {"learning_rate": 5e-3, "l2": 1e-4, "negatives": 1},
    {"learning_rate": 1e-3, "l2": 1e-4, "negatives": 1},
    {"learning_rate": 5e-3, "l2": 1e-3, "negatives": 8},
    {"learning_rate": 5e-3, "l2": 1e-3, "negatives": 32, "schedule": "cosine", "init_scale": 0.8},
]
"""What the paper leaves open, tried on validation like the settings of the others."""


@dataclass(frozen=True)
class Extent:
    """How much is spent on each method: everything, or less for a quick look."""

    epochs: int | None = None
    """Epochs of baselines, and the most of ours; None as many as suit each."""
    rule_epochs: int = 60
    """Epochs of the paper's method, at most."""
    rule_samples: int = 5_000
    """β: compositions of the paper's method that are measured, on 1,000 users."""
    samples: int | None = None
    """The same of ours, on 5,000; None as many as the preset says."""
    blocks: int | None = None
    """N of ours and of the paper's; None as their settings say."""
    steps: int | None = None
    """Steps of the estimators; None until they converge."""

    def config(self, method: str) -> dict[str, Any]:
        """What differs from the whole extent, of what a method's numbers depend on."""
        whole = asdict(Extent())
        names = whole if method in LIBRARY else ("epochs",)
        return {name: value for name in names if (value := getattr(self, name)) != whole[name]}


@dataclass(frozen=True)
class Task:
    """One measurement to be made; everything a worker needs."""

    experiment: str
    dataset: str
    method: str
    loss: str
    settings: dict[str, Any]
    seed: int
    sizes: tuple[float, ...]
    part: Part
    data: Path
    results: Path
    """Folder of result lines."""
    kept: Path | None = None
    """Folder for models under way and for values per user."""
    extent: Extent = field(default_factory=Extent)
    device: str = "cpu"
    threads: int = 1
    tuned_on: int | None = None
    """Of a tuning: validation pairs of the split it reads."""
    tables: Path | None = None
    """Folder of tables kept by `experiments.bases run --keep`, for ours."""
    choose: Path | None = None
    """Of ours: the split whose validation chooses weights and compositions, where it is another."""
    metric: str | None = None
    """Of ours: what weights and compositions are chosen by; None as the preset says."""

    def __str__(self) -> str:
        sizes = "/".join(f"{mb:g}" for mb in self.sizes)
        setting = ", ".join(f"{name} {value}" for name, value in self.settings.items())
        word = f"{self.dataset} {self.method} ({self.loss}) {sizes} MB seed {self.seed}"
        return f"{word} {self.part}" + (f" [{setting}]" if self.part == "validation" else "")

    def config(self) -> dict[str, Any]:
        """What the numbers depend on, seed and size aside."""
        found: dict[str, Any] = {"loss": self.loss, "settings": self.settings}
        if self.method in LIBRARY:
            found |= plan_of(self).config()
        found |= self.extent.config(self.method)
        if self.choose is not None:
            found["chosen_on"] = self.choose.parent.name
        if self.metric not in (None, PRESET_METRIC):
            found["chosen_by"] = self.metric
        return found | ({} if self.tuned_on is None else {"tuned_on": self.tuned_on})


def chosen_by(dataset: str) -> str:
    """What ours chooses by in its main row of a data set."""
    return CHOSEN_OTHERWISE.get(dataset, CHOSEN_BY)


def plan_of(task: Task) -> plans.Plan:
    """The settings of ours or of the paper's method in every stage."""
    from elasticrec.training.config import TrainConfig

    extent = task.extent
    blocks = {} if extent.blocks is None else {"n_blocks": extent.blocks}
    if task.method == OURS:
        beside = (CHOOSER, EVEN, MEASURED)
        settings = {name: value for name, value in task.settings.items() if name not in beside}
        train = TrainConfig(**(settings | blocks))
        train = replace(train, epochs=min(train.epochs, extent.epochs or train.epochs))
        plan = plans.ours(train, extent.samples, task.metric)
        measured = bool(task.settings.get(MEASURED))
        plan = replace(plan, even=task.settings.get(EVEN), measured=measured)
    else:
        changes = task.settings | {"epochs": extent.rule_epochs} | blocks
        plan = plans.rule(task.dataset, SCORES[task.method], changes, extent.rule_samples)
    return plan if extent.steps is None else plan.shortened(extent.steps)
