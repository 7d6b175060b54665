"""Options that several commands share, and settings as `stage.name=value` over a preset."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from elasticrec.errors import InputError

if TYPE_CHECKING:
    from elasticrec.model import Model
    from elasticrec.presets import Preset

MOST_SEED = 2**63 - 1
USER = Annotated[str | None, Option(help="Column of the users.")]
ITEM = Annotated[str | None, Option(help="Column of the items.")]
TIME = Annotated[str | None, Option(help="Column of the times.")]
RATING = Annotated[str | None, Option(help="Column of the ratings, for --min-rating.")]
MIN_RATING = Annotated[float | None, Option(help="Leave out smaller ratings.")]
WHERE = Annotated[
    str | None, Option(help="Rows to read, in SQL: \"event = 'purchase'\".", metavar="CONDITION")
]
WEIGHT = Annotated[
    str | None,
    Option(help="How much rows count in training: a column, or SQL.", metavar="EXPRESSION"),
]
COLUMNS = Annotated[
    str | None, Option(help="Columns of a table without a header: user,item,rating,time.")
]
MIN_INTERACTIONS = Annotated[
    int | None, Option(help="Fewest per user and item; else 10, or 5 or 2 for sparse data.")
]
TITLES = Annotated[Path | None, Option(help="A table or JSON file with items and titles.")]
TEST = Annotated[
    Path | None, Option(help="The published test part; SOURCE is then the train part.")
]
PRESET = Annotated[str, Option(help="default, demo, paper-amazon-book or paper-yelp.")]
OWN_PRESET = Annotated[
    str | None, Option("--preset", help="Settings to start from; by default the model's own.")
]
SETTINGS = Annotated[
    list[str] | None, Option("--set", help="A setting as stage.name=value; may be repeated.")
]
SEED = Annotated[int, Option(help="Fixes everything that is drawn.", min=0, max=MOST_SEED)]
OWN_SEED = Annotated[
    int | None,
    Option("--seed", help="Fixes what is drawn; by default the model's own.", min=0, max=MOST_SEED),
]
DEVICE = Annotated[str, Option(help="auto, cpu or cuda.")]
JSON = Annotated[bool, Option("--json", help="Print one JSON object instead.")]

NAMES = {bool: "true or false", int: "whole number below 2^63", float: "finite number", str: "word"}
"""Kinds of setting, as errors name them."""


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
        after = _changed(before, rest, value, text)
    else:
        (field,) = (each for each in fields(config) if each.name == name)
        after = _parsed(before, "float" in str(field.type), value, text)
    return replace(config, **{name: after})


def _parsed(before: Any, is_float: bool, value: str, text: str) -> Any:
    """A value of the same type as before, which may hold whole numbers where floats are meant."""
    many = isinstance(before, tuple)
    kind = float if is_float else type(before[0] if many else before)
    try:
        found = [_of(kind, part.strip()) for part in (value.split(",") if many else [value])]
    except (ValueError, KeyError):
        expected = f"{NAMES[kind]}s with commas" if many else NAMES[kind]
        raise InputError(f"--set {text}: {value!r}, expected {expected}") from None
    return tuple(found) if many else found[0]


def _of(kind: type, value: str) -> Any:
    """A value of a kind; a ValueError or a KeyError where there is none."""
    if kind is bool:
        return {"true": True, "false": False}[value.lower()]
    if kind is float and not isfinite(float(value)):
        raise ValueError(value)
    if kind is int and not abs(int(value)) < 2**63:
        raise ValueError(value)
    return kind(value)


def listed(text: str | None) -> tuple[str, ...] | None:
    """The parts of a text with commas, without spaces around them."""
    return None if text is None else tuple(part.strip() for part in text.split(","))
