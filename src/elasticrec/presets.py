"""Named settings: `default` (ours, the same for all data), `demo`, and the paper's two."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from typing import Any

from elasticrec.compression.config import CompressionConfig
from elasticrec.errors import InputError
from elasticrec.ordering.search import OrderSearchConfig
from elasticrec.rule.config import RuleConfig
from elasticrec.settings import Settings
from elasticrec.stream.curve import CurveConfig
from elasticrec.training.config import TrainConfig
from elasticrec.tuning import TuneConfig

_PAPER = TrainConfig(
    base="lightgcn", n_blocks=16, score="tiled", loss="bpr", readout="final", layers=3,
    diversity=1e-4, diversity_form="printed",
    # The paper leaves these open.
    epochs=200, batch_size=8192, learning_rate=5e-3, schedule="constant", negatives=1,
    cooccurrence=0.0, l2=1e-4, init="random", init_scale=1.0, metric="recall@100",
    evaluate_every=5, patience=5,
)  # fmt: skip


@dataclass(frozen=True, repr=False)
class Preset(Settings):
    """The settings of every stage under one name."""

    train: TrainConfig = field(default_factory=TrainConfig)
    """Training of the table."""
    compression: CompressionConfig = field(default_factory=CompressionConfig)
    """Codes and neighbour lists."""
    order: OrderSearchConfig = field(default_factory=OrderSearchConfig)
    """Vote weights and the order of the stream."""
    curve: CurveConfig = field(default_factory=CurveConfig)
    """The curve of quality by size, and what stands beside it."""
    tuning: TuneConfig = field(default_factory=TuneConfig)
    """Trials of other training settings, where `fit` is given minutes for them."""
    refit: bool = True
    """After the curve is measured, train what is shipped on train and validation together; every
    choice stays. `elasticrec rule` needs validation, so a model for it is fitted without."""
    rule: RuleConfig = field(default_factory=RuleConfig)
    """`elasticrec rule`: the paper's search for one budget."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.train.score == "aligned" and self.train.block_size != 8:
            raise InputError(f"block_size is {self.train.block_size}, expected 8, as a stream has")

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for `model.json` and result lines."""
        return asdict(self)

    def seeded(self, seed: int) -> Preset:
        """The same settings with one seed for every stage of the pipeline."""
        return replace(
            self, train=replace(self.train, seed=seed),
            compression=replace(self.compression, seed=seed), order=replace(self.order, seed=seed),
        )  # fmt: skip

    @classmethod
    def of(cls, plain: dict[str, Any]) -> Preset:
        """The settings that `as_dict` gave."""
        filled: Preset = _filled(cls(), plain)
        return filled


PRESETS = {
    "default": Preset(),
    # The same recipe in about two minutes on two cores.
    "demo": Preset(
        train=replace(TrainConfig(), epochs=4, negatives=512, temperatures=()),
        order=replace(OrderSearchConfig(), n_persons=2_000),
        curve=CurveConfig(persons=2_000), refit=False,
    ),
    "paper-amazon-book": Preset(
        train=_PAPER, rule=RuleConfig.printed(width=64, population=20), refit=False
    ),
    "paper-yelp": Preset(
        train=replace(_PAPER, layers=2), rule=RuleConfig.printed(width=128, population=50),
        refit=False,
    ),
}  # fmt: skip


def _filled(config: Any, plain: dict[str, Any]) -> Any:
    """A config of plain values, nested as it is."""
    known = {each.name: getattr(config, each.name) for each in fields(config)}
    if set(plain) != set(known):
        odd = ", ".join(sorted(set(plain) ^ set(known)))
        raise InputError(f"settings of another version of elasticrec, which differ by {odd}")
    values = {
        name: _filled(before, plain[name]) if is_dataclass(before) else plain[name]
        for name, before in known.items()
    }
    return type(config)(**{n: tuple(v) if isinstance(v, list) else v for n, v in values.items()})


def preset(name: str) -> Preset:
    """The preset of that name."""
    if name not in PRESETS:
        raise InputError(f"no preset {name!r}; expected one of {', '.join(PRESETS)}")
    return PRESETS[name]


def params_of(config: Preset) -> dict[str, Any]:
    """The preset, the seed and the fewest settings that make the training of a config."""
    after, made = asdict(config.train), []
    for name, known in PRESETS.items():
        before = asdict(known.train)
        changed = {key: value for key, value in after.items() if value != before[key]}
        made.append({"preset": name, **changed, "seed": config.train.seed})
    return min(made, key=len)
