"""ElasticRecommender: from interactions to recommendations in three calls, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any
from weakref import finalize

from elasticrec.data.readers.columns import Columns
from elasticrec.errors import InputError
from elasticrec.data.preparation import PrepareConfig, prepare
from elasticrec.evaluation.metrics import DEFAULT_METRICS
from elasticrec.evaluation.ranking import Evaluation, evaluate
from elasticrec.model import Id, Model, Recommendation
from elasticrec.presets import preset as preset_named
from elasticrec.space.budget import Budget

if TYPE_CHECKING:
    from elasticrec.customizing import Customized, IdChoice
    from elasticrec.evaluation.questions import Part


class ElasticRecommender:
    """A recommender for notebooks: `fit`, `evaluate`, `recommend`, `customize`, `save`, `load`.

    Args:
        preset: the settings to start from: `default`, `paper-amazon-book` or `paper-yelp`.
        seed: fixes the split, where one is made, and the training.
        device: `auto`, `cpu` or `cuda`, for training and evaluation.
        settings: fields of `TrainConfig` that differ from the preset, such as `epochs=10`.
    """

    def __init__(
        self, preset: str = "default", *, seed: int = 0, device: str = "auto", **settings: Any
    ) -> None:
        chosen = preset_named(preset)
        config = chosen.train
        known = [field.name for field in fields(config)]
        for name in settings:
            if name not in known:
                raise InputError(f"unknown setting {name!r}; expected one of {', '.join(known)}")
        self.preset = preset
        self.device = device
        self.config = replace(config, seed=seed, **settings)
        self.space = chosen.space
        self._model: Model | None = None
        self._folder: Path | None = None

    def __repr__(self) -> str:
        if self._model is None:
            return f"ElasticRecommender(preset={self.preset!r}, not fitted)"
        return f"ElasticRecommender({self._model})"

    @property
    def model(self) -> Model:
        """The trained table and its split; refused before `fit` or `load`."""
        if self._model is None:
            raise InputError("this recommender is not fitted; expected fit(data) or load(folder)")
        return self._model

    def fit(
        self,
        data: Any,
        *,
        user: str | None = None,
        item: str | None = None,
        min_interactions: int | None = None,
    ) -> ElasticRecommender:
        """This recommender, trained on some data.

        Args:
            data: a `Split`, used as it is; or interactions to filter and split 70/10/20:
                `Interactions`, a scipy sparse (users, items) matrix, a pandas or polars frame,
                the path of a CSV, TSV, Parquet or lists file, or `goodbooks`. The path of a split
                written by `elasticrec data prepare` is used as it is, too.
            user: column of the users in a frame or table; found by its usual names by default.
            item: column of the items, likewise.
            min_interactions: fewest per user and per item; the others are left out.
        """
        from elasticrec.training.loop import train
        from elasticrec.training.model import finish

        config = PrepareConfig(
            columns=Columns(user, item), min_interactions=min_interactions, seed=self.config.seed
        )
        split = prepare(data, config)
        trained = train(split, self.config, device=self.device)
        groups = min(self.space.n_groups, split.n_items)
        space = replace(self.space, n_groups=groups, seed=self.config.seed)
        self._model = finish(split, trained, self.config, space)
        self._folder = None
        return self

    def evaluate(
        self,
        part: Part = "test",
        metrics: Iterable[str] = DEFAULT_METRICS,
        *,
        keep_per_user: bool = False,
    ) -> Evaluation:
        """How well the held-out items of a part are ranked among all unseen items, exactly."""
        return evaluate(
            self.model.table,
            self.model.split,
            part=part,
            metrics=metrics,
            device=self.device,
            keep_per_user=keep_per_user,
        )

    def recommend(
        self,
        user: Id | None = None,
        *,
        items: Iterable[Id] | None = None,
        k: int = 20,
        exclude: Iterable[Id] = (),
    ) -> list[Recommendation]:
        """The k best items for a user of the data, or for anyone who took some items.

        What the user is known to have taken (in any part of the split), what stands in `items`
        and what stands in `exclude` is not listed. All ids are original ones; unknown items are
        skipped, and a warning is logged.
        """
        return self.model.recommend(user, items=items, k=k, exclude=exclude)

    def similar(self, item: Id, k: int = 20) -> list[Recommendation]:
        """The k items whose vectors point most nearly the same way; scores are cosines."""
        return self.model.similar(item, k)

    def customize(
        self,
        budget: str | int,
        path: Path | str,
        *,
        ids: IdChoice = "original",
        with_map: bool = False,
        without: Iterable[Id] = (),
        seed: int = 0,
    ) -> Customized:
        """The best bundle that fits a budget, after it was written to a file.

        The first call codes the model and fits the estimator that searches budgets, which takes
        minutes; later ones take a moment. A recommender that was loaded or saved keeps both in its
        folder.

        Args:
            budget: `5MB`, `512KB`, or bytes.
            path: the file to write, such as `watch.elastic`.
            ids: whether the bundle holds the data's own ids, or speaks of items by number.
            with_map: whether it holds the map that turns a history into a vector.
            without: ids of items that it shall never list.
            seed: fixes the search.
        """
        from elasticrec.blocks.folder import ModelFolder
        from elasticrec.customizing import Customizer, make_ready
        from elasticrec.files import check_writable

        asked = Budget.parse(budget) if isinstance(budget, str) else Budget(budget)
        check_writable(path)
        if self._folder is None:
            own = mkdtemp(prefix="elasticrec-")
            finalize(self, rmtree, own, ignore_errors=True)  # goes with the recommender
            self.save(Path(own) / "model")
        assert self._folder is not None
        folder, chosen = ModelFolder.open(self._folder), preset_named(self.preset)
        make_ready(folder, chosen.samples, chosen.estimator, device=self.device)
        customizer = Customizer(folder, ids=ids, with_map=with_map, without=without)
        (made,) = customizer.customize([asked], chosen.search, seed=seed)
        made.write(path)
        return made

    def save(self, folder: Path | str) -> None:
        """Write a model folder, which `load` and every command read."""
        self.model.save(folder)
        self._folder = Path(folder)

    @classmethod
    def load(cls, folder: Path | str, *, device: str = "auto") -> ElasticRecommender:
        """The recommender in a model folder that `save` or `elasticrec train` wrote."""
        recommender = cls(device=device)
        recommender._model = Model.load(folder)
        recommender._folder = Path(folder)
        return recommender
