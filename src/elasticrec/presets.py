"""Named settings: `paper-amazon-book`, `paper-yelp`, and `default` (ours, the best measured)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from elasticrec.errors import InputError
from elasticrec.data.splitting import Split
from elasticrec.rule.estimator.config import EstimatorConfig, SamplesConfig
from elasticrec.rule.config import SearchConfig
from elasticrec.space.regroup import SpaceConfig
from elasticrec.training.config import TrainConfig

_PAPER = TrainConfig(
    base="lightgcn",
    n_blocks=16,
    block_size=8,
    score="tiled",
    loss="bpr",
    readout="final",
    layers=3,
    diversity=1e-4,
    diversity_form="printed",
    # The paper leaves these open.
    epochs=200,
    batch_size=8192,
    learning_rate=5e-3,
    schedule="constant",
    negatives=1,
    l2=1e-4,
    init="random",
    init_scale=1.0,
    metric="recall@100",
    evaluate_every=5,
    patience=5,
)


@dataclass(frozen=True)
class Preset:
    """The settings of every stage under one name."""

    train: TrainConfig
    space: SpaceConfig = field(default_factory=SpaceConfig)
    samples: SamplesConfig = field(default_factory=SamplesConfig)
    estimator: EstimatorConfig = field(default_factory=EstimatorConfig)
    # The margin is about twice what estimators err by on compositions of one budget held out.
    search: SearchConfig = field(
        default_factory=lambda: SearchConfig(rounds=250, children=10, margin=0.02)
    )
    validation_for_everyone: bool = False
    """Hold out an eighth of everyone's train items, as the paper does, not of 5,000 users'."""


PRESETS = {
    "default": Preset(
        # The best measured on goodbooks' validation among what two cores train in minutes.
        TrainConfig(
            n_blocks=32,
            aggregation=True,
            epochs=8,
            batch_size=2048,
            learning_rate=3e-3,
            negatives=512,
            temperature=0.08,
            cooccurrence=0.3,
            evaluate_every=1,
            patience=2,
        ),
        # What a search gains on the paper's 1,000 users does not last on others.
        samples=SamplesConfig(n_samples=6_000, n_found=1_200, n_users=5_000, metric="recall@50"),
        estimator=EstimatorConfig(smooth=6, widths=(32,), learning_rates=(0.01,), l2s=(1e-3, 1e-2)),
    ),
    "demo": Preset(
        # The default cut short: about a minute of training on two cores for the embedded sample.
        TrainConfig(
            aggregation=True,
            epochs=5,
            batch_size=8192,
            learning_rate=4e-3,
            negatives=512,
            temperature=0.07,
            cooccurrence=0.3,
            evaluate_every=1,
            patience=0,
            validation_users=3000,
        ),
        samples=SamplesConfig(n_samples=2_000, n_found=600, n_users=1_500, metric="recall@50"),
        estimator=EstimatorConfig(
            smooth=6, widths=(32,), learning_rates=(0.01,), l2s=(1e-2,), steps=600, max_rounds=2
        ),
        search=SearchConfig(rounds=250, children=10, margin=0.02, refine=10),
    ),
    "paper-amazon-book": Preset(
        _PAPER,
        SpaceConfig.printed(),
        estimator=EstimatorConfig.printed(width=64),
        search=SearchConfig.printed(),
        validation_for_everyone=True,
    ),
    "paper-yelp": Preset(
        replace(_PAPER, layers=2),
        SpaceConfig.printed(),
        estimator=EstimatorConfig.printed(width=128),
        search=SearchConfig.printed(population=50),
        validation_for_everyone=True,
    ),
}


def preset(name: str) -> Preset:
    """The preset of that name."""
    if name not in PRESETS:
        raise InputError(f"no preset {name!r}; expected one of {', '.join(PRESETS)}")
    return PRESETS[name]


def check_split(name: str, split: Split) -> None:
    """Refuse a published split that holds out for validation less than a preset asks for."""
    few = np.count_nonzero(split.validation.per_user) < split.n_users / 2
    if preset(name).validation_for_everyone and split.kind == "published" and few:
        raise InputError(
            f"preset {name} holds out an eighth of everyone's train items, and this split only "
            "some users'; prepare it with --validation-everyone"
        )
