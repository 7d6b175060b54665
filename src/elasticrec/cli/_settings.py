"""Settings on the command line: presets, and single settings as `stage.name=value`."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from elasticrec.errors import InputError

if TYPE_CHECKING:
    from elasticrec.presets import Preset


def configured(name: str, settings: list[str] | None, seed: int | None = None) -> Preset:
    """The preset of a name with some settings changed.

    Args:
        settings: texts such as `train.epochs=8` or `compression.min_support=5`.
        seed: the seed of every stage, where given.
    """
    from elasticrec.presets import preset

    chosen = preset(name)
    if seed is not None:
        if seed < 0:
            raise InputError(f"--seed {seed}: expected at least 0")
        chosen = replace(
            chosen,
            train=replace(chosen.train, seed=seed),
            compression=replace(chosen.compression, seed=seed),
            order=replace(chosen.order, seed=seed),
        )
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
    after = _changed(before, rest, value, text) if rest else _parsed(before, value, text)
    return replace(config, **{name: after})


def _parsed(before: Any, value: str, text: str) -> Any:
    """A value of the same type as before."""
    try:
        if isinstance(before, bool):
            return {"true": True, "false": False}[value.lower()]
        if isinstance(before, tuple):
            kind = type(before[0]) if before else float
            return tuple(kind(part) for part in value.split(","))
        return type(before)(value)
    except (ValueError, KeyError):
        kind = type(before).__name__
        raise InputError(f"--set {text}: {value!r}, expected a value of type {kind}") from None
