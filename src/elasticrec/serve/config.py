"""ServeConfig: every setting of the service."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from elasticrec.errors import InputError
from elasticrec.settings import Range, check


@dataclass(frozen=True)
class ServeConfig:
    """The models to serve, and the limits within which they are served."""

    models: tuple[Path | str, ...]
    """Model folders, or folders of model folders, or addresses of such; a model is called as its
    folder is."""
    keys: Path | None = None
    """The file with the keys of tokens; by default the environment holds them."""
    poll_seconds: Annotated[float, Range(0.01, 1e6)] = 5
    """Seconds between looks at the model folders for new versions."""
    connections: Annotated[int, Range(8, 10**6)] = 4_000
    """Open connections; beyond them the one that has waited longest for a request is closed."""
    requests: Annotated[int, Range(1, 10**6)] = 2_000
    """Requests that are answered at the same time, downloads included."""
    url_bytes: Annotated[int, Range(128, 10**6)] = 2_048
    """The longest path and query."""
    header_bytes: Annotated[int, Range(512, 10**7)] = 16_384
    """The longest request line and headers."""
    header_seconds: Annotated[float, Range(0.1, 1e6)] = 10
    """Seconds that a client has to send the headers of a request."""
    idle_seconds: Annotated[float, Range(0.1, 1e6)] = 30
    """Seconds after which a connection without requests is closed."""
    stall_seconds: Annotated[float, Range(0.01, 1e6)] = 60
    """Seconds that a client may take nothing of its download; less where many others wait."""
    shutdown_seconds: Annotated[int, Range(0, 10**6)] = 120
    """Seconds that downloads may go on after the service was told to end."""

    def __post_init__(self) -> None:
        check(self)
        if not self.models:
            raise InputError("no model folder was given, expected at least one")
