"""Logs as JSON lines: a date, a level, an event, and facts beside it.

No logger of the service is ever given a token, a vector or the id of a user.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Any, TextIO

ONCE_SECONDS = 10.0
"""An equal message of the server below is logged once in so many seconds."""
_PLAIN = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}
"""The fields of every record; the others were given by `extra`."""


class JsonLines(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "time": f"{seconds}.{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        line |= {key: value for key, value in vars(record).items() if key not in _PLAIN}
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=True, default=str)


class NoFlood(logging.Filter):
    """Passes an equal message of asyncio or uvicorn once per interval: clients can cause them."""

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """True if a record is logged."""
        if not record.name.startswith(("asyncio", "uvicorn")):
            return True
        event, now = str(record.msg)[:40], time.monotonic()
        if now - self._last.get(event, -ONCE_SECONDS) < ONCE_SECONDS:
            return False
        self._last[event] = now
        return True


def to_json_lines(level: int = logging.INFO, stream: TextIO | None = None) -> None:
    """Send all logs of this process to a stream, stdout by default, as JSON lines."""
    handler = logging.StreamHandler(stream or sys.stdout)
    handler.setFormatter(JsonLines())
    handler.addFilter(NoFlood())
    root = logging.getLogger()
    root.handlers, root.level = [handler], level
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [], name != "uvicorn.access"
