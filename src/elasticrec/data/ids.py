"""Ids: the original names of users and items behind their dense numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

INTEGER = re.compile(r"0|-?[1-9][0-9]*")
"""Spelling of an integer id: `007` or `+7` is text, or its spelling would be lost."""
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


@dataclass(frozen=True)
class Ids:
    """Original ids in dense order: integers (of any size) or strings."""

    values: np.ndarray
    """(n,) int64, or object holding only `int` (beyond 64 bits) or only `str`."""

    def __repr__(self) -> str:
        shown = ", ".join(repr(self.of_number(n)) for n in range(min(3, len(self))))
        return f"Ids({len(self):,}: {shown}{', …' if len(self) > 3 else ''})"

    def __len__(self) -> int:
        return len(self.values)

    @property
    def are_text(self) -> bool:
        """True where the ids are strings."""
        return bool(self.values.dtype == object and len(self) and isinstance(self.values[0], str))

    def check(self) -> None:
        """Raise a ValueError where `values` breaks its promise."""
        if self.values.ndim != 1 or self.values.dtype not in (np.int64, object):
            raise ValueError(f"ids are an array of {self.values.dtype}, expected int64 or objects")
        listed = self.values.tolist()
        if len(set(listed)) < len(listed):
            raise ValueError("an id is given twice, expected different ids")

    @classmethod
    def dense(cls, n: int) -> Ids:
        """The numbers 0 … n - 1 as their own ids."""
        return cls(np.arange(n, dtype=np.int64))

    @classmethod
    def of(cls, values: Iterable[Any]) -> Ids:
        """Ids from any iterable of ints or of strings; int64 where they fit."""
        listed = [v.item() if isinstance(v, np.generic) else v for v in values]
        kinds = {type(v) for v in listed}
        if kinds not in (set(), {int}, {str}):
            names = ", ".join(sorted(kind.__name__ for kind in kinds))
            raise ValueError(f"ids are of type {names}; expected all int or all str")
        if kinds != {str} and all(INT64_MIN <= v <= INT64_MAX for v in listed):
            return cls(np.array(listed, dtype=np.int64))
        return cls(as_objects(listed))

    @classmethod
    def from_text(cls, texts: list[str]) -> Ids:
        """Ids that were read as text: integers where every one of them spells one, else strings."""
        if all(INTEGER.fullmatch(text) for text in texts):
            return cls.of([int(text) for text in texts])
        return cls(as_objects(texts))

    def take(self, numbers: np.ndarray) -> Ids:
        """The ids of some dense numbers."""
        return Ids(self.values[numbers])

    def of_number(self, number: int) -> int | str:
        """The original id of one dense number, as a Python int or str."""
        value: Any = self.values[number]
        plain: int | str = value.item() if isinstance(value, np.generic) else value
        return plain

    def numbers(self, wanted: Iterable[Any]) -> np.ndarray:
        """Dense numbers of ids, -1 where unknown; text that spells an integer id matches it."""
        as_key = str if self.are_text else _as_int
        return np.array([self._lookup.get(as_key(v), -1) for v in wanted], dtype=np.int64)

    @cached_property
    def _lookup(self) -> dict[Any, int]:
        """The dense number of each int or str object; made at the first look-up."""
        return {value: number for number, value in enumerate(self.values.tolist())}

    def arrays(self, name: str) -> dict[str, np.ndarray]:
        """The ids as plain arrays that `np.savez` stores without pickling."""
        if self.values.dtype != object:
            return {f"{name}.int64": self.values}
        kind = "str" if self.are_text else "int"
        encoded = [str(v).encode("utf-8") for v in self.values]
        ends = np.cumsum([len(e) for e in encoded], dtype=np.int64)
        return {
            f"{name}.{kind}.ends": ends,
            f"{name}.{kind}.utf8": np.frombuffer(b"".join(encoded), dtype=np.uint8),
        }

    @classmethod
    def from_arrays(cls, name: str, stored: Mapping[str, np.ndarray]) -> Ids:
        """The ids that `arrays(name)` gave."""
        if f"{name}.int64" in stored:
            return cls(stored[f"{name}.int64"])
        kind = "str" if f"{name}.str.ends" in stored else "int"
        data = stored[f"{name}.{kind}.utf8"].tobytes()
        ends = stored[f"{name}.{kind}.ends"].tolist()
        if sorted(ends) != ends or (ends[-1] if ends else 0) != len(data):
            raise ValueError(f"the ends of {name} do not span its {len(data)} bytes")
        texts = [data[a:b].decode("utf-8") for a, b in zip([0, *ends[:-1]], ends, strict=False)]
        return cls(as_objects(texts if kind == "str" else [int(t) for t in texts]))


def as_objects(values: list[Any]) -> np.ndarray:
    """The values as an object array, whatever they are."""
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def _as_int(value: Any) -> Any:
    """The value as an int where it is or spells one; None where it does not."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return int(value) if INTEGER.fullmatch(value) else None
    return value if type(value) is int else None
