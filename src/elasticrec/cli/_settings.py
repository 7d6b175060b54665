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

READING: dict[str, Any] = {
    "columns": Annotated[
        str | None, Option(help="Columns of a table without a header: user,item,rating,time.")
    ],
    "user": Annotated[str | None, Option(help="Column of the users.")],
    "item": Annotated[str | None, Option(help="Column of the items.")],
    "time": Annotated[str | None, Option(help="Column of the times.")],
    "rating": Annotated[str | None, Option(help="Column of the ratings, for --min-rating.")],
    "min_rating": Annotated[float | None, Option(help="Leave out smaller ratings.")],
    "where": Annotated[
        str | None,
        Option(help="Rows to read, in SQL: \"event = 'purchase'\".", metavar="CONDITION"),
    ],
    "weight": Annotated[
        str | None,
        Option(help="How much rows count in training: a column, or SQL.", metavar="EXPRESSION"),
    ],
    "min_interactions": Annotated[
        int | None, Option(help="Fewest per user and item; else 10, or 5 or 2 for sparse data.")
    ],
    "titles": Annotated[Path | None, Option(help="A table or JSON file with items and titles.")],
    "test": Annotated[
        Path | None, Option(help="The published test part; SOURCE is then the train part.")
    ],
}
"""Options by which interactions are read, of every command that reads them."""
PRESET = Annotated[str, Option(help="default, demo, paper-amazon-book or paper-yelp.")]
OWN_PRESET = Annotated[
    str | None, Option("--preset", help="Settings to start from; by default the model's own.")
]
SETTINGS = Annotated[
    list[str] | None, Option("--set", help="A setting as stage.name=value; may be repeated.")
]
SEED = Annotated[int, Option(help="Fixes everything that is drawn.")]
OWN_SEED = Annotated[
    int | None,
    Option("--seed", help="Fixes what is drawn; by default the model's own."),
]
DEVICE = Annotated[str, Option(help="auto, cpu or cuda.")]
JSON = Annotated[bool, Option("--json", help="Print one JSON object instead.")]


def reads_interactions(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of `READING`, which it gets as one `PrepareConfig`."""
    own = signature(command, eval_str=True)
    only = Parameter.KEYWORD_ONLY
    options = [Parameter(n, only, default=None, annotation=each) for n, each in READING.items()]
    kept = [each.replace(kind=only) for each in own.parameters.values()]
    place = [each.name for each in kept].index("reading")

    @wraps(command)
    def run(**given: Any) -> None:
        from elasticrec.data.preparation import PrepareConfig
        from elasticrec.data.readers.columns import Columns

        chosen = {name: given.pop(name) for name in READING}
        names = listed(chosen.pop("columns"))
        of_file = {name: chosen.pop(name) for name in ("min_interactions", "titles", "test")}
        reading = PrepareConfig(columns=Columns(names=names, **chosen), **of_file)
        command(reading=replace(reading, seed=given["seed"]), **given)

    shown = own.replace(parameters=[*kept[:place], *options, *kept[place + 1 :]])
    run.__signature__ = shown  # type: ignore[attr-defined]
    return run


def by_engine(command: Callable[..., None]) -> Callable[..., None]:
    """The command with options that say where its shards are worked off."""
    own, only = signature(command, eval_str=True), Parameter.KEYWORD_ONLY
    name = Annotated[str, Option(help="serial, processes, or ray: a cluster.")]
    place = Annotated[str | None, Option(help="The cluster; else $RAY_ADDRESS, or a local one.")]
    options = [
        Parameter("engine", only, default="serial", annotation=name),
        Parameter("ray_address", only, default=None, annotation=place),
    ]
    kept = [each.replace(kind=only) for each in own.parameters.values()]

    @wraps(command)
    def run(*, engine: str, ray_address: str | None, **given: Any) -> None:
        from elasticrec.engine import using

        with using(engine, address=ray_address):
            command(**given)

    run.__signature__ = own.replace(parameters=[*kept, *options])  # type: ignore[attr-defined]
    return run


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
    """A preset, or the one of a name, with some settings changed.

    Args:
        settings: texts such as `train.epochs=8` or `compression.min_support=5`.
        seed: the seed of every stage, where given.
    """
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
