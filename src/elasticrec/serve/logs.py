"""Logs as JSON lines: a date, a level, what happened, and facts beside it.

Neither tokens nor vectors nor ids of users are ever given to a logger of the service.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Any, TextIO

_PLAIN = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}
"""What every record has; the rest was given by `extra`."""


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


def to_json_lines(level: int = logging.INFO, stream: TextIO | None = None) -> None:
    """Send all logs of this process to a stream, stdout by default, as JSON lines."""
    handler = logging.StreamHandler(stream or sys.stdout)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers, root.level = [handler], level
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [], name != "uvicorn.access"
