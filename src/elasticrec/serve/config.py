"""ServeConfig: every setting of the service."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

from elasticrec.errors import InputError
from elasticrec.rule.config import SearchConfig
from elasticrec.serve.steps import DEFAULT_STEPS

AT_LEAST: dict[str, float] = {
    "shelf_bytes": 1_000_000,
    "seed": 0,
    "searches": 1,
    "waiting": 1,
    "search_seconds": 0.001,
    "poll_seconds": 0.01,
    "requests": 1,
    "url_bytes": 128,
    "body_bytes": 0,
    "stall_seconds": 0.01,
    "shutdown_seconds": 0,
    "retry_seconds": 1,
}
"""The smallest sensible value of each number."""


@dataclass(frozen=True)
class ServeConfig:
    """What is served, from where, and within which limits."""

    models: tuple[Path, ...]
    """Model folders, or folders of model folders; a model is called as its folder is."""
    shelf: Path
    """The folder that finished bundles lie in; processes on one host may share it."""
    shelf_bytes: int = 4_000_000_000
    """What the shelf may hold; what was not asked for longest leaves first."""
    steps: tuple[int, ...] = DEFAULT_STEPS
    """Bytes, rising, to which budgets are rounded down."""
    ids: Literal["none", "original"] = "none"
    """Whether bundles hold original ids, or speak of items by number."""
    map: bool = False
    """Whether bundles hold the map from a history to a person's vector."""
    rounds: int = 25
    """Rounds of a search."""
    children: int = 10
    """Candidates bred in each round."""
    seed: int = 0
    """Fixes everything that searches draw: hosts with equal settings make equal bundles."""
    searches: int = 2
    """Bundles that one process makes at the same time."""
    waiting: int = 64
    """New bundles that may be asked of one process before it refuses more."""
    search_seconds: float = 30
    """How long a request waits for its new bundle."""
    plan_ahead: bool = True
    """Whether idle processes search the steps that nobody asked for yet; nothing is packed."""
    poll_seconds: float = 5
    """How often model folders are looked at for new versions."""
    requests: int = 2_000
    """Requests that one process answers at the same time, downloads included."""
    url_bytes: int = 2_048
    """The longest path and query."""
    body_bytes: int = 0
    """The longest body of a request; no request needs one."""
    stall_seconds: float = 60
    """How long a client may take nothing of its download before it is cut off."""
    shutdown_seconds: int = 120
    """How long downloads may go on after the service was told to end."""
    retry_seconds: int = 1
    """What clients are told to wait when the service is busy."""
    keys: Path | None = None
    """The file with the keys of tokens; by default the environment holds them."""

    def __post_init__(self) -> None:
        for name, least in AT_LEAST.items():
            if getattr(self, name) < least:
                raise InputError(f"{name} is {getattr(self, name)}, expected at least {least}")
        if not self.models:
            raise InputError("no model folder was given, expected at least one")
        if not self.steps or list(self.steps) != sorted(set(self.steps)) or self.steps[0] < 1:
            raise InputError(f"steps {self.steps[:5]} …, expected different sizes, rising")
        if self.ids not in ("none", "original"):
            raise InputError(f"ids {self.ids!r}, expected 'none' or 'original'")
        _ = self.search  # refuses wild numbers

    @property
    def search(self) -> SearchConfig:
        """Settings of one search."""
        return SearchConfig(rounds=self.rounds, children=self.children)

    def to_json(self) -> str:
        """The settings as text, for processes that this one starts."""
        plain = asdict(self) | {"models": [str(path) for path in self.models]}
        plain |= {"shelf": str(self.shelf), "keys": self.keys and str(self.keys)}
        return json.dumps(plain)

    @classmethod
    def from_json(cls, text: str) -> ServeConfig:
        """The settings that `to_json` wrote."""
        plain: dict[str, Any] = json.loads(text)
        odd = plain.keys() - {field.name for field in fields(cls)}
        if odd:
            raise InputError(f"settings of the service have {', '.join(sorted(odd))}: unknown")
        plain["models"] = tuple(map(Path, plain["models"]))
        plain["shelf"], plain["steps"] = Path(plain["shelf"]), tuple(plain["steps"])
        plain["keys"] = plain.get("keys") and Path(plain["keys"])
        return cls(**plain)
