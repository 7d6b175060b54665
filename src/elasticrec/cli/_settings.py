"""Options that several commands share, and settings as `stage.name=value` over a preset."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from elasticrec.errors import InputError
from elasticrec.settings import kinds

if TYPE_CHECKING:
    from elasticrec.model import Model
    from elasticrec.presets import Preset

PRESET = Annotated[str, Option(help="default, demo, paper-amazon-book or paper-yelp.")]
OWN_PRESET = Annotated[
    str | None, Option("--preset", help="Settings to start from; by default the model's own.")
]
SETTINGS = Annotated[
    list[str] | None, Option("--set", help="A setting as stage.name=value; may be repeated.")
]
SEED = Annotated[int, Option(help="Fixes everything that is drawn.")]
OWN_SEED = Annotated[
    int | None, Option("--seed", help="Fixes what is drawn; by default the model's own.")
]
DEVICE = Annotated[str, Option(help="auto, cpu or cuda.")]
JSON = Annotated[bool, Option("--json", help="Print one JSON object instead.")]


def _reading(
    format: Annotated[  # noqa: A002
        str | None, Option(help="csv, movielens, parquet, json or lists; else by the name.")
    ] = None,
    separator: Annotated[str | None, Option(help="Stands between columns; else found.")] = None,
    columns: Annotated[
        str | None, Option(help="Columns of a table without a header: user,item,rating,time.")
    ] = None,
    user: Annotated[str | None, Option(help="Column of the users.")] = None,
    item: Annotated[str | None, Option(help="Column of the items.")] = None,
    time: Annotated[str | None, Option(help="Column of the times.")] = None,
    rating: Annotated[str | None, Option(help="Column of the ratings, for --min-rating.")] = None,
    min_rating: Annotated[float | None, Option(help="Leave out smaller ratings.")] = None,
    where: Annotated[
        str | None,
        Option(help="Rows to read, in SQL: \"event == 'purchase'\".", metavar="CONDITION"),
    ] = None,
    weight: Annotated[
        str | None,
        Option(help="How much rows count in training: a column, or SQL.", metavar="EXPRESSION"),
    ] = None,
    ordered: Annotated[
        bool, Option("--ordered", help="The rows of a table run from old to new.")
    ] = False,
    min_interactions: Annotated[
        int | None, Option(help="Fewest per user and item; else 10, or 5 or 2 for sparse data.")
    ] = None,
    split: Annotated[
        str | None,
        Option(help="temporal (one cut in time), last (of each user) or random; else by the data."),
    ] = None,
    test: Annotated[
        Path | None, Option(help="The published test part; SOURCE is then the train part.")
    ] = None,
    validation: Annotated[
        str | None, Option(help="With --test: last or random eighth of train; else by the data.")
    ] = None,
    titles: Annotated[Path | None, Option(help="A table or JSON file of items' titles.")] = None,
    title: Annotated[str | None, Option(help="Column of the titles in that file.")] = None,
    name: Annotated[str | None, Option(help="Name of the data set in results.")] = None,
    seed: SEED = 0,
) -> Any:
    """The `PrepareConfig` of the options by which every command reads interactions."""
    given = locals()
    from elasticrec.data.preparation import PrepareConfig
    from elasticrec.data.readers.columns import Columns

    given["names"] = listed(given.pop("columns"))
    own = {each.name: given.pop(each.name) for each in fields(Columns) if each.name in given}
    return PrepareConfig(columns=Columns(**own), **given)


def _engine(
    engine: Annotated[str, Option(help="serial, processes, or ray: a cluster.")] = "serial",
    ray_address: Annotated[str | None, Option(help="Else $RAY_ADDRESS, or a local one.")] = None,
) -> Any:
    """A block whose shards are worked off where the options say."""
    from elasticrec.engine import using

    return using(engine, address=ray_address)


def reads_interactions(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of `_reading`, whose result it gets as `reading`."""
    return with_options(command, command, _reading, "reading")


def by_engine(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of `_engine`, in whose block it runs."""

    def run(engine: Any, **given: Any) -> None:
        with engine:
            command(**given)

    return with_options(run, command, _engine, "engine")


def with_options(
    run: Callable[..., None], command: Callable[..., None], made: Callable[..., Any], name: str
) -> Callable[..., None]:
    """`run` as the command, with the parameters of `made`, whose result it gets by a name.

    They stand where the command has a parameter of that name, else at the end.
    """
    own, options = signature(command, eval_str=True), signature(made, eval_str=True).parameters
    kept = list(own.parameters.values())
    place = [*own.parameters, name].index(name)
    shown = [*kept[:place], *options.values(), *kept[place + 1 :]]

    @wraps(command)
    def offered(**given: Any) -> None:
        run(**{name: made(**{option: given.pop(option) for option in options})}, **given)

    parameters = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in shown]
    offered.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    return offered


def configured_as(
    model: Model, name: str | None, settings: list[str] | None, seed: int | None
) -> Preset:
    """A model's own settings, or the preset of a name, with some settings changed."""
    from elasticrec.presets import Preset

    if name is None and "preset" in model.about:
        return configured(Preset.of(model.about["preset"]), settings, seed)
    return configured(name or "default", settings, seed)


def configured(
    base: str | Preset, settings: list[str] | None = None, seed: int | None = None
) -> Preset:
    """A preset, or the one of a name, with some settings such as `train.epochs=8` changed."""
    from elasticrec.presets import preset

    chosen = preset(base) if isinstance(base, str) else base
    if seed is not None:
        chosen = chosen.seeded(seed)
    for text in settings or []:
        path, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"--set {text}: expected stage.name=value, such as train.epochs=8")
        chosen = _changed(chosen, path.split("."), value, text)
    return chosen


def _changed(config: Any, path: list[str], value: str, text: str) -> Any:
    """A config with one field changed, however deep."""
    known = {each.name: getattr(config, each.name) for each in fields(config)}
    name, *rest = path
    if name not in known:
        raise InputError(f"--set {text}: no {name!r}, expected one of {', '.join(known)}")
    before = known[name]
    if is_dataclass(before) != bool(rest):
        expected = "a name after it" if is_dataclass(before) else "a plain setting"
        raise InputError(f"--set {text}: {name!r}, expected {expected}")
    if rest:
        return replace(config, **{name: _changed(before, rest, value, text)})
    kind = kinds(type(config))[name]
    assert kind is not None
    try:
        return replace(config, **{name: kind.parse(value)})
    except (ValueError, KeyError) as error:
        said = error if isinstance(error, InputError) else f"{value!r}, expected {kind}"
        raise InputError(f"--set {text}: {said}") from None


def listed(text: str | None) -> tuple[str, ...] | None:
    """The parts of a text with commas, without spaces around them."""
    return None if text is None else tuple(part.strip() for part in text.split(","))
