"""ElasticRecommender: from interactions to recommendations in three calls, for notebooks."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from shutil import copytree, rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, overload
from weakref import finalize

import numpy as np

from elasticrec.data.histories import Id, check_ids
from elasticrec.errors import InputError
from elasticrec.evaluation.metrics import DEFAULT_METRICS
from elasticrec.presets import Preset, params_of
from elasticrec.presets import preset as preset_named
from elasticrec.progress import lines_in_notebook
from elasticrec.recommending import Ranker, Recommendation, rows_of
from elasticrec.space import Budget

if TYPE_CHECKING:
    import polars as pl

    from elasticrec.evaluation.ranking import Evaluation, Part
    from elasticrec.model import Model
    from elasticrec.stages import Callback

log = logging.getLogger(__name__)


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
        known = [field.name for field in fields(chosen.train)]
        for name in settings:
            if name not in known:
                raise InputError(f"unknown setting {name!r}, expected one of {', '.join(known)}")
        if device not in ("auto", "cpu", "cuda"):
            raise InputError(f"device is {device!r}, expected auto, cpu or cuda")
        self.preset, self.seed, self.device, self.settings = preset, seed, device, settings
        chosen = chosen.seeded(_plain(seed))
        plain = {name: _plain(value) for name, value in settings.items()}
        self.config = replace(chosen, train=replace(chosen.train, **plain))
        self._model: Model | None = None

    def __repr__(self) -> str:
        usual = {"preset": self.preset, "seed": 0, "device": "auto"}
        given = self.get_params().items()
        shown = [f"{n}={v!r}" for n, v in given if n not in usual or v != usual[n]]
        fitted = [] if self._model is not None else ["not fitted"]
        return f"ElasticRecommender({', '.join([repr(self.preset), *shown, *fitted])})"

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """What the recommender was made with, as scikit-learn's `clone` asks for it."""
        return {"preset": self.preset, "seed": self.seed, "device": self.device, **self.settings}

    def set_params(self, **params: Any) -> ElasticRecommender:
        """This recommender with some of its settings changed, for the next `fit`."""
        made = type(self)(**{**self.get_params(), **params})
        self.__dict__.update({n: v for n, v in made.__dict__.items() if n != "_model"})
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Settings, and the files of the model: a pickle is whole."""
        state = {**self.__dict__, "_model": None}
        state.pop("ranker", None)
        if self._model is not None:
            root = self._model.root
            files = [path for path in root.iterdir() if not path.name.startswith(".")]
            state["files"] = {path.name: path.read_bytes() for path in files}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        files = state.pop("files", None)
        self.__dict__.update(state)
        if files is not None:
            from elasticrec.model import Model

            folder = self._folder()
            for name, content in files.items():
                (folder / name).write_bytes(content)
            self._model = Model.open(folder)

    def _folder(self) -> Path:
        """A new folder, which goes with the recommender."""
        folder = mkdtemp(prefix="elasticrec-")
        finalize(self, rmtree, folder, ignore_errors=True)
        return Path(folder)

    @property
    def model(self) -> Model:
        """The finished model; refused before `fit` or `load`."""
        if self._model is None:
            raise InputError("this recommender is not fitted, expected fit(data) or load(folder)")
        return self._model

    @cached_property
    def ranker(self) -> Ranker:
        """The whole stream of the model, ready to rank."""
        return Ranker(self.model)

    def fit(
        self, data: Any, *, user: str | None = None, item: str | None = None,
        time: str | None = None, rating: str | None = None, min_rating: float | None = None,
        where: str | None = None, weight: str | None = None, titles: Any = None,
        min_interactions: int | None = None, callbacks: Sequence[Callback] = (),
    ) -> ElasticRecommender:  # fmt: skip
        """This recommender, with a finished model of some data.

        Args:
            data: interactions to filter and split: the path of a CSV, TSV, Parquet or lists file,
                a pandas or polars frame, a scipy sparse (users, items) matrix, `Interactions`, or
                `goodbooks`; or a `Split`, or the path of one, used as it is.
            user, item, time, rating: columns; found by their usual names by default.
            min_rating: leave out smaller ratings.
            where: rows to read, in SQL: `event == 'purchase'`.
            weight: how much rows count in training: a column, or an expression in SQL.
            titles: a file or a frame with an item and a title column.
            min_interactions: fewest per user and per item; the others are left out.
            callbacks: told numbers while it trains and measures, for trackers; called with the
                stage, the step, and values by name.
        """
        from elasticrec.card import verdict
        from elasticrec.data.preparation import PrepareConfig, prepare
        from elasticrec.data.readers.columns import Columns
        from elasticrec.pipeline import fit

        reading = PrepareConfig(
            columns=Columns(user, item, rating, time, min_rating, where=where, weight=weight),
            titles=titles, min_interactions=min_interactions, seed=self.config.train.seed,
        )  # fmt: skip
        if not isinstance(callbacks, list | tuple) or not all(map(callable, callbacks)):
            raise InputError(f"callbacks: {callbacks!r}, expected a list of functions")
        with lines_in_notebook():
            split = prepare(data, reading)
            model = fit(split, self._folder(), self.config, device=self.device, callbacks=callbacks)
            log.info("%s", verdict(model))
        self._model = model
        self.__dict__.pop("ranker", None)
        return self

    def evaluate(
        self, part: Part = "test", metrics: Iterable[str] = DEFAULT_METRICS, *,
        budget: str | int | None = None,
    ) -> Evaluation:  # fmt: skip
        """Evaluate the file of a budget, or the whole stream, on the held-out items of a part.

        ItemKNN and popularity on the same users stand beside it, as `baselines`.
        """
        from elasticrec.stream.curve import evaluate_stream

        size = None if budget is None else Budget.of(budget)
        return evaluate_stream(self.model, size, part=part, metrics=metrics, device=self.device)

    @overload
    def recommend(
        self, user: Id | None = None, *, items: Iterable[Id] | None = None, k: int = 20,
        exclude: Iterable[Id] = (), only: Iterable[Id] | None = None, diversity: float = 0.0,
    ) -> list[Recommendation]: ...  # fmt: skip

    @overload
    def recommend(
        self, *, users: Iterable[Id] | None = None, items: Iterable[Iterable[Id]] | None = None,
        k: int = 20, exclude: Iterable[Id] = (), only: Iterable[Id] | None = None,
        diversity: float = 0.0,
    ) -> pl.DataFrame: ...  # fmt: skip

    def recommend(
        self, user: Id | None = None, *, users: Iterable[Id] | None = None,
        items: Iterable[Any] | None = None, k: int = 20, exclude: Iterable[Id] = (),
        only: Iterable[Id] | None = None, diversity: float = 0.0,
    ) -> list[Recommendation] | pl.DataFrame:  # fmt: skip
        """The k best items for a user of the data, or for anyone who took some items.

        One person gets a list. Many, by `users` or by a list of histories as `items`, get a frame
        with a row per listed item; `user` is then the id, or the place of a history from 0.

        Items that the user took, in any part of the split, are not listed, nor are those of `items`
        and of `exclude`. Unknown items and users are skipped, and a warning is logged.
        A `diversity` above 0, up to 1, prefers items that differ from those above them.
        """
        given: Any = None if items is None else check_ids(items, "given")
        asked: Any = {"k": k, "exclude": exclude, "only": only, "diversity": diversity}
        many = any(isinstance(each, Iterable) and not isinstance(each, str) for each in given or ())
        if users is None and not many:
            return self.ranker.recommend(user, items=given, **asked)
        if user is not None:
            raise InputError(f"user {user!r} beside users or histories, expected one of them")
        import polars as pl

        rows = rows_of(self.ranker.recommend_many(users, items=given, **asked))
        return pl.DataFrame(rows, ["user", "place", "item", "score", "title"], orient="row")

    def similar(self, item: Id, k: int = 20) -> list[Recommendation]:
        """The k items for someone who took one item alone."""
        if not isinstance(item, int | str | np.integer):
            raise InputError(f"item is {item!r}, expected one id")
        return self.ranker.recommend(items=[item], k=k)

    def customize(self, budget: str | int, path: Path | str, *, ids: str = "dense") -> int:
        """Write the file of a budget, the longest prefix of the stream that fits; its bytes.

        Args:
            budget: `5MB`, `512KB`, or bytes.
            ids: `dense` (item numbers), or the data's own: `u32`, `u64` or `text`.
        """
        from elasticrec.stream.curve import customize_model

        size, path = Budget.of(budget), _path(path, "path")
        return int(customize_model(self.model, size, path, id_kind=ids)["bytes"])

    def save(self, folder: Path | str) -> None:
        """Write the model folder, which `load` and every command read; a full one is refused."""
        folder = _path(folder, "folder")
        if folder.exists() and (folder.is_file() or any(folder.iterdir())):
            found = "is a file" if folder.is_file() else "holds files already"
            raise InputError(f"{folder}: {found}, expected a new or empty folder")
        copytree(self.model.root, folder, dirs_exist_ok=True)

    @classmethod
    def load(cls, folder: Path | str, *, device: str = "auto") -> ElasticRecommender:
        """The recommender in a model folder that `save` or `elasticrec fit` wrote."""
        from elasticrec.model import Model

        model = Model.open(_path(folder, "folder"))
        recommender = cls(device=device)
        try:
            config = Preset.of(model.about["preset"])
            recommender.set_params(**params_of(config))
            recommender.config = config
        except (InputError, KeyError) as error:
            log.warning("%s: its settings are not kept (%s)", folder, error)
        recommender._model = model
        return recommender


def _path(path: Path | str, what: str) -> Path:
    """A path; whatever is none is refused."""
    if not isinstance(path, str | PathLike):
        raise InputError(f"{what} is {path!r:.50}, expected a path")
    return Path(path)


def _plain(value: Any) -> Any:
    """A setting without NumPy's types, and a tuple for a list."""
    value = value.item() if isinstance(value, np.generic) else value
    return tuple(map(_plain, value)) if isinstance(value, list | tuple) else value
