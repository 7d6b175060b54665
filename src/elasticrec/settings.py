"""Ranges of settings: a config declares them in its types, and one function checks them all."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from elasticrec.errors import InputError


@dataclass(frozen=True)
class Range:
    """The numbers that a setting may have, both ends among them."""

    low: float
    high: float


Seed = Annotated[int, Range(0, 2**63 - 1)]
Count = Annotated[int, Range(1, 10**9)]
"""Things to measure or to draw: more than there are means all of them."""
Rounds = Annotated[int, Range(1, 10_000)]
"""Repetitions, each of which takes time."""
Share = Annotated[float, Range(0, 1)]
Chance = Annotated[float, Range(1e-9, 1)]
Weight = Annotated[float, Range(0, 1e6)]
Positive = Annotated[float, Range(1e-12, 1e6)]
Power = Annotated[float, Range(0, 10)]
Rate = Annotated[float, Range(0, 0.999999)]
"""Share of its last value that a running mean keeps."""

_NAMES = {bool: ("true or false",) * 2, int: ("a whole number", "whole numbers"),
          float: ("a number", "numbers"), str: ("a text", "texts")}  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """The values that one setting may have."""

    type: type[Any]
    limits: Range | None = None
    choices: tuple[str, ...] = ()
    many: bool = False
    length: int | None = None
    empty: bool = False
    optional: bool = False

    def __str__(self) -> str:
        """The words of an error that expects it."""
        if self.choices:
            return ("some of " if self.many else "one of ") + ", ".join(self.choices)
        number, name = f"{self.length} " if self.length else "", _NAMES[self.type][self.many]
        if self.limits is None:
            return number + name
        shape = ",d" if self.type is int else "g"
        return f"{number}{name} from {self.limits.low:{shape}} to {self.limits.high:{shape}}"

    def holds(self, value: Any) -> bool:
        """True for a value, or a tuple of them, that the setting may be."""
        if value is None:
            return self.optional
        if self.many:
            if not isinstance(value, tuple) or (self.length or len(value)) != len(value):
                return False
            return all(map(self._holds_one, value)) and (bool(value) or self.empty)
        return self._holds_one(value)

    def _holds_one(self, value: Any) -> bool:
        if isinstance(value, bool) != (self.type is bool):
            return False
        if not isinstance(value, (int, float) if self.type is float else self.type):
            return False
        if self.limits and not self.limits.low <= value <= self.limits.high:
            return False
        return not self.choices or value in self.choices

    def parse(self, text: str) -> Any:
        """The value that a text means; a ValueError or a KeyError where it means none."""
        if self.many:
            return tuple(self._parse_one(part.strip()) for part in text.split(",") if part.strip())
        return self._parse_one(text)

    def _parse_one(self, text: str) -> Any:
        words = {"true": True, "false": False}
        return words[text.lower()] if self.type is bool else self.type(text)


def kinds(config: type[Any]) -> dict[str, Kind | None]:
    """The kind of each field of a config, by its type; None where that is a config or a path."""
    return {name: _kind(hint) for name, hint in get_type_hints(config, include_extras=True).items()}


def _kind(hint: Any, **known: Any) -> Kind | None:
    inner = get_args(hint)
    if tuple[()] in inner:  # `tuple[X, ...] | tuple[()]` may be empty, `tuple[X, ...]` not
        return _kind(inner[0], empty=True, **known)
    if get_origin(hint) is tuple:
        length = None if ... in inner else len(inner)
        return _kind(inner[0], many=True, length=length, **known)
    if get_origin(hint) is Annotated:
        return _kind(inner[0], limits=inner[1], **known)
    if get_origin(hint) is Literal:
        return Kind(str, choices=inner, **known)
    if type(None) in inner:
        return _kind(inner[0], optional=True, **known)
    return Kind(hint, **known) if hint in _NAMES else None


def check(config: Any) -> None:
    """Refuse a config with a setting of another type than declared, or out of its range."""
    for name, kind in kinds(type(config)).items():
        if kind is not None and not kind.holds(getattr(config, name)):
            raise InputError(f"{name} is {getattr(config, name)!r}, expected {kind}")


class Settings:
    """A config that is checked as it is made, and whose repr has what differs from its defaults.

    Its dataclasses are frozen and have no repr of their own.
    """

    def __post_init__(self) -> None:
        check(self)

    def __repr__(self) -> str:
        return _changes(self)


def _changes(value: Any) -> str:
    """A value as text: of a config, and of those in it, the settings that are not the default."""
    if not is_dataclass(value):
        return repr(value)
    kind: Any = type(value)
    default = kind()
    found = {each.name: getattr(value, each.name) for each in fields(value)}
    changed = [f"{n}={_changes(v)}" for n, v in found.items() if v != getattr(default, n)]
    return f"{kind.__name__}({', '.join(changed)})"
