"""ElasticRecommender: from interactions to recommendations in three calls, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from math import inf
from pathlib import Path
from shutil import copytree, rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any
from weakref import finalize

from elasticrec.errors import InputError
from elasticrec.evaluation.metrics import DEFAULT_METRICS
from elasticrec.presets import preset as preset_named
from elasticrec.recommending import Id, Ranker, Recommendation
from elasticrec.space import Budget

if TYPE_CHECKING:
    from elasticrec.evaluation.queries import Part
    from elasticrec.evaluation.ranking import Evaluation
    from elasticrec.model import Model


class ElasticRecommender:
    """A recommender for notebooks: `fit`, `evaluate`, `recommend`, `customize`, `save`, `load`.

    Args:
        preset: the settings to start from: `default`, `demo`, or one of the paper's.
        seed: fixes all that is drawn: the split, where one is made, and every stage.
        device: `auto`, `cpu` or `cuda`, for training and evaluation.
        settings: fields of `TrainConfig` that differ from the preset, such as `epochs=10`.
    """

    def __init__(
        self, preset: str = "default", *, seed: int = 0, device: str = "auto", **settings: Any
    ) -> None:
        chosen = preset_named(preset)
        known = {field.name: getattr(chosen.train, field.name) for field in fields(chosen.train)}
        for name, value in {"seed": seed, **settings}.items():
            if name not in known:
                raise InputError(f"unknown setting {name!r}, expected one of {', '.join(known)}")
            _check_type(name, value, known[name])
        self.preset, self.seed, self.device, self.settings = preset, seed, device, settings
        chosen = chosen.seeded(seed)
        self.config = replace(chosen, train=replace(chosen.train, **settings))
        self._model: Model | None = None
        self._ranker: Ranker | None = None

    def __repr__(self) -> str:
        given = "".join(f", {name}={value!r}" for name, value in self.settings.items())
        fitted = "" if self._model is not None else ", not fitted"
        return f"ElasticRecommender({self.preset!r}{given}{fitted})"

    @property
    def model(self) -> Model:
        """The finished model; refused before `fit` or `load`."""
        if self._model is None:
            raise InputError("this recommender is not fitted, expected fit(data) or load(folder)")
        return self._model

    @property
    def ranker(self) -> Ranker:
        """The whole stream of the model, ready to rank."""
        if self._ranker is None:
            self._ranker = Ranker(self.model)
        return self._ranker

    def fit(
        self,
        data: Any,
        *,
        user: str | None = None,
        item: str | None = None,
        time: str | None = None,
        rating: str | None = None,
        titles: Path | str | None = None,
        min_interactions: int | None = None,
    ) -> ElasticRecommender:
        """This recommender, with a finished model of some data.

        Args:
            data: interactions to filter and split: the path of a CSV, TSV, Parquet or lists file,
                a pandas or polars frame, a scipy sparse (users, items) matrix, `Interactions`, or
                `goodbooks`; or a `Split`, or the path of one, used as it is.
            user, item, time, rating: columns; found by their usual names by default.
            titles: a table with an item and a title column.
            min_interactions: fewest per user and per item; the others are left out.
        """
        from elasticrec.data.preparation import PrepareConfig, prepare
        from elasticrec.data.readers.columns import Columns
        from elasticrec.pipeline import fit

        reading = PrepareConfig(
            columns=Columns(user, item, rating, time),
            titles=None if titles is None else Path(titles),
            min_interactions=min_interactions,
            seed=self.seed,
        )
        split = prepare(data, reading)
        folder = mkdtemp(prefix="elasticrec-")
        finalize(self, rmtree, folder, ignore_errors=True)  # goes with the recommender
        self._model = fit(split, Path(folder) / "model", self.config, device=self.device)
        self._ranker = None
        return self

    def evaluate(
        self,
        part: Part = "test",
        metrics: Iterable[str] = DEFAULT_METRICS,
        *,
        budget: str | int | None = None,
    ) -> Evaluation:
        """Evaluate the file of a budget, or the whole stream, on the held-out items of a part."""
        from elasticrec.stream.curve import evaluate_stream

        size = None if budget is None else Budget.of(budget)
        return evaluate_stream(self.model, size, part=part, metrics=metrics, device=self.device)

    def recommend(
        self,
        user: Id | None = None,
        *,
        items: Iterable[Id] | None = None,
        k: int = 20,
        exclude: Iterable[Id] = (),
        only: Iterable[Id] | None = None,
    ) -> list[Recommendation]:
        """The k best items for a user of the data, or for anyone who took some items.

        Items that the user took, in any part of the split, are not listed, nor are those of `items`
        and of `exclude`. Unknown items are skipped, and a warning is logged.
        """
        return self.ranker.recommend(user, items=items, k=k, exclude=exclude, only=only)

    def similar(self, item: Id, k: int = 20) -> list[Recommendation]:
        """The k items for someone who took one item alone."""
        return self.ranker.recommend(items=[item], k=k)

    def customize(self, budget: str | int, path: Path | str, *, ids: str = "dense") -> int:
        """Write the file of a budget, the longest prefix of the stream that fits; its bytes.

        Args:
            budget: `5MB`, `512KB`, or bytes.
            ids: `dense` (item numbers), or the data's own: `u32`, `u64` or `text`.
        """
        from elasticrec.stream.customizing import customize_model

        made = customize_model(self.model, Budget.of(budget), path, id_kind=ids)
        return int(made["bytes"])

    def save(self, folder: Path | str) -> None:
        """Write the model folder, which `load` and every command read; a full one is refused."""
        folder = Path(folder)
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder}: is a file, expected a new or empty folder")
        if folder.exists() and any(folder.iterdir()):
            raise InputError(f"{folder}: holds files already, expected a new or empty folder")
        copytree(self.model.root, folder, dirs_exist_ok=True)

    @classmethod
    def load(cls, folder: Path | str, *, device: str = "auto") -> ElasticRecommender:
        """The recommender in a model folder that `save` or `elasticrec fit` wrote."""
        from elasticrec.model import Model

        recommender = cls(device=device)
        recommender._model = Model.open(folder)
        return recommender


def _check_type(name: str, value: Any, like: Any) -> None:
    """Refuse a setting of another type than its default, or one that is not finite."""
    kind = type(like)
    names = {bool: "True or False", int: "a whole number", float: "a finite number", str: "a text"}
    fits = isinstance(value, (int, float) if kind is float else kind)
    if not fits or isinstance(value, bool) != (kind is bool) or value in (inf, -inf):
        raise InputError(f"{name} is {value!r}, expected {names[kind]}")
