"""Monitoring: metrics in Prometheus' text format, and logs as JSON lines.

No logger or metric of the service is ever given a token, a vector or the id of a user.
"""

from __future__ import annotations

import json
import logging
import math
import os
import sys
import time
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds of the buckets of durations."""
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Labels = tuple[str, ...]
ONCE_SECONDS = 10.0
"""An equal message of the server below is logged once in so many seconds."""
_PLAIN = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}
"""The fields of every record; the others were given by `extra`."""


@dataclass
class Family:
    """One metric: a number, or a row of buckets, for each combination of label values."""

    name: str
    help: str
    kind: str
    """`counter`, `gauge` or `histogram`."""
    labels: Labels = ()
    """Names of the labels."""
    values: dict[Labels, list[float]] = field(default_factory=dict)
    """One number; for a histogram the count of each bucket, of all, and their sum."""

    def add(self, amount: float = 1, *labels: str) -> None:
        """Count."""
        self.values.setdefault(labels, [0.0])[0] += amount

    def set(self, value: float, *labels: str) -> None:
        """Set a gauge."""
        self.values[labels] = [value]

    def observe(self, seconds: float, *labels: str) -> None:
        """Count a duration."""
        row = self.values.setdefault(labels, [0.0] * (len(SECONDS) + 2))
        row[bisect_left(SECONDS, seconds)] += 1
        row[-1] += seconds

    def lines(self) -> Iterable[str]:
        """The metric as Prometheus reads it."""
        yield f"# HELP {self.name} {self.help}"
        yield f"# TYPE {self.name} {self.kind}"
        empty = not self.labels and self.kind != "histogram"
        for values, row in sorted((self.values or ({(): [0.0]} if empty else {})).items()):
            named = dict(zip(self.labels, values, strict=True))
            if self.kind != "histogram":
                yield f"{self.name}{_braces(named)} {_number(row[0])}"
                continue
            total = 0.0
            for bound, count in zip((*SECONDS, math.inf), row, strict=False):
                total += count
                yield f"{self.name}_bucket{_braces(named | {'le': _number(bound)})} {total:.0f}"
            yield f"{self.name}_sum{_braces(named)} {_number(row[-1])}"
            yield f"{self.name}_count{_braces(named)} {total:.0f}"


class Metrics:
    """All metrics; the event loop alone changes them."""

    def __init__(self) -> None:
        self.families: list[Family] = []

        def family(kind: str, name: str, text: str, *labels: str) -> Family:
            self.families.append(Family(f"elasticrec_{name}", text, kind, labels))
            return self.families[-1]

        route = ("route", "method", "status")
        self.requests = family("counter", "http_requests_total", "Requests answered.", *route)
        self.seconds = family(
            "histogram", "http_request_duration_seconds", "From request to last byte.", "route"
        )
        self.sent = family("counter", "http_response_bytes_total", "Bytes of bodies.", "route")
        self.in_flight = family("gauge", "http_requests_in_flight", "Requests being answered.")
        self.refused = family("counter", "tokens_refused_total", "Refused tokens.", "reason")
        self.ready = family("gauge", "model_ready", "1 for the version on disk, else 0.", "model")
        self.models = family("gauge", "model_info", "Served models, 1 each.", "model", "model_id")
        self.loads = family("counter", "model_loads_total", "Versions loaded.", "model")
        self.failures = family("counter", "model_load_failures_total", "Failed loads.", "model")
        self.memory = family("gauge", "resident_memory_bytes", "Memory of the process.")
        self.cpu = family("counter", "cpu_seconds_total", "Processor time of the process.")

    def text(self) -> str:
        """All numbers as Prometheus reads them."""
        self.memory.set(_resident_bytes())
        self.cpu.set(time.process_time())
        return "\n".join(line for each in self.families for line in each.lines()) + "\n"


def _braces(labels: Mapping[str, str]) -> str:
    """Labels as text; their values are names, routes and ids that need no escapes."""
    return "{" + ",".join(f'{k}="{v}"' for k, v in labels.items()) + "}" if labels else ""


def _number(value: float) -> str:
    """A number as Prometheus spells it."""
    return "+Inf" if math.isinf(value) else f"{value:.15g}"


def _resident_bytes() -> int:
    """Memory of this process; 0 where the system does not say."""
    with suppress(OSError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    return 0


class JsonLines(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        made = datetime.fromtimestamp(record.created, UTC).replace(tzinfo=None)
        line: dict[str, Any] = {
            "time": f"{made.isoformat(timespec='milliseconds')}Z",
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
