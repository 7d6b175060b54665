"""ServeConfig: every setting of the service."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from elasticrec.errors import InputError

AT_LEAST: dict[str, float] = {
    "poll_seconds": 0.01,
    "connections": 8,
    "requests": 1,
    "url_bytes": 128,
    "header_bytes": 512,
    "header_seconds": 0.1,
    "idle_seconds": 0.1,
    "stall_seconds": 0.01,
    "shutdown_seconds": 0,
}
"""The smallest sensible value of each number."""


@dataclass(frozen=True)
class ServeConfig:
    """The models to serve, and the limits within which they are served."""

    models: tuple[Path, ...]
    """Model folders, or folders of model folders; a model is called as its folder is."""
    keys: Path | None = None
    """The file with the keys of tokens; by default the environment holds them."""
    poll_seconds: float = 5
    """Seconds between looks at the model folders for new versions."""
    connections: int = 4_000
    """Open connections; beyond them the one that has waited longest for a request is closed."""
    requests: int = 2_000
    """Requests that are answered at the same time, downloads included."""
    url_bytes: int = 2_048
    """The longest path and query."""
    header_bytes: int = 16_384
    """The longest request line and headers."""
    header_seconds: float = 10
    """Seconds that a client has to send the headers of a request."""
    idle_seconds: float = 30
    """Seconds after which a connection without requests is closed."""
    stall_seconds: float = 60
    """Seconds that a client may take nothing of its download; less where many others wait."""
    shutdown_seconds: int = 120
    """Seconds that downloads may go on after the service was told to end."""

    def __post_init__(self) -> None:
        for name, least in AT_LEAST.items():
            if not getattr(self, name) >= least:
                raise InputError(f"{name} is {getattr(self, name)}, expected at least {least}")
        if not self.models:
            raise InputError("no model folder was given, expected at least one")
