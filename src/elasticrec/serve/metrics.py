"""Metrics in Prometheus' text format: counters, gauges and histograms of all processes together.

Each process keeps its own numbers and leaves a copy in a folder of the shelf; whichever process is
asked adds up the copies of all that live.
"""

from __future__ import annotations

import json
import math
import os
import threading
import time
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from elasticrec.serve.locks import read_json

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds of the buckets of durations."""
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Labels = tuple[str, ...]


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
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, amount: float = 1, *labels: str) -> None:
        """Count."""
        with self._lock:
            self.values.setdefault(labels, [0.0])[0] += amount

    def set(self, value: float, *labels: str) -> None:
        """Set a gauge."""
        with self._lock:
            self.values[labels] = [value]

    def drop(self, first: str) -> None:
        """Forget everything whose first label is `first`."""
        with self._lock:
            self.values = {key: row for key, row in self.values.items() if key[0] != first}

    def observe(self, seconds: float, *labels: str) -> None:
        """Count a duration."""
        with self._lock:
            row = self.values.setdefault(labels, [0.0] * (len(SECONDS) + 2))
            row[bisect_left(SECONDS, seconds)] += 1
            row[-1] += seconds


class Metrics:
    """All metrics of one process."""

    def __init__(self) -> None:
        self.asked = float("-inf")
        """When a request came last, by the monotonic clock; not those that watch the service."""
        made: list[Family] = []

        def family(kind: str, name: str, text: str, *labels: str) -> Family:
            made.append(Family(f"elasticrec_{name}", text, kind, labels))
            return made[-1]

        route = ("route", "method", "status")
        self.requests = family("counter", "http_requests_total", "Requests answered.", *route)
        self.seconds = family(
            "histogram", "http_request_duration_seconds", "From request to last byte.", "route"
        )
        self.sent = family("counter", "http_response_bytes_total", "Bytes of bodies.", "route")
        self.in_flight = family("gauge", "http_requests_in_flight", "Requests being answered.")
        self.refused = family("counter", "tokens_refused_total", "Refused tokens.", "reason")
        self.searches = family("counter", "searches_total", "Searches made.", "model")
        self.search_seconds = family("histogram", "search_duration_seconds", "Of searches.")
        self.packs = family("counter", "packs_total", "Bundles packed.", "model")
        self.pack_seconds = family("histogram", "pack_duration_seconds", "Packed and on disk.")
        self.patches = family("counter", "patches_total", "Upgrades made.")
        self.hits = family("counter", "shelf_hits_total", "Bundles found on the shelf.")
        self.misses = family("counter", "shelf_misses_total", "Bundles that were not there.")
        self.evictions = family("counter", "shelf_evictions_total", "Files that had to leave.")
        self.damaged = family("counter", "shelf_damaged_total", "Damaged files found.")
        self.loads = family("counter", "model_loads_total", "Versions loaded.", "model")
        self.failures = family("counter", "model_load_failures_total", "Not loaded.", "model")
        self.models = family("gauge", "model_info", "What is served, by 1.", "model", "model_id")
        self.loaded = family("gauge", "model_loaded_timestamp_seconds", "Last switch.", "model")
        self.memory = family("gauge", "resident_memory_bytes", "Of all processes together.")
        self.cpu = family("counter", "cpu_seconds_total", "Of all processes together.")
        self.families = made
        self.shared = {"model_info", "model_loaded_timestamp_seconds"}
        """Gauges that all processes agree on: the largest is shown, not the sum."""

    def snapshot(self) -> dict[str, list[Any]]:
        """All numbers as plain lists."""
        self.memory.set(_resident_bytes())
        self.cpu.set(time.process_time())
        return {f.name: [[list(k), v] for k, v in list(f.values.items())] for f in self.families}

    def leave(self, folder: Path) -> None:
        """Leave a copy of the numbers for the other processes."""
        path = folder / f"{os.getpid()}.json"
        partial = path.with_suffix(".part")
        partial.write_text(json.dumps(self.snapshot()), encoding="utf-8")
        os.replace(partial, path)

    def text(self, folder: Path, gauges: Mapping[str, tuple[str, float]]) -> str:
        """The numbers of all processes that left a copy, as Prometheus reads them.

        Args:
            gauges: further numbers of the whole host: name to help and value.
        """
        self.leave(folder)
        total = Metrics()
        for path in _living(folder):
            total._include(read_json(path) or {})
        lines: list[str] = []
        for each in total.families:
            lines += _lines(each)
        for name, (text, value) in gauges.items():
            lines += _lines(Family(f"elasticrec_{name}", text, "gauge", (), {(): [value]}))
        return "\n".join(lines) + "\n"

    def _include(self, snapshot: Mapping[str, Any]) -> None:
        """Add the numbers of another process."""
        for each in self.families:
            agreed = each.name.removeprefix("elasticrec_") in self.shared
            for labels, row in snapshot.get(each.name, []):
                mine = each.values.setdefault(tuple(labels), [0.0] * len(row))
                combine = max if agreed else _plus
                each.values[tuple(labels)] = [combine(*two) for two in zip(mine, row, strict=True)]


def _plus(a: float, b: float) -> float:
    return a + b


def _living(folder: Path) -> Iterable[Path]:
    """The copies whose processes live; the others are removed."""
    for path in sorted(folder.glob("*.json")):
        try:
            os.kill(int(path.stem), 0)
        except PermissionError:
            pass  # it lives, under another name
        except (ProcessLookupError, ValueError):
            path.unlink(missing_ok=True)
            continue
        yield path


def _lines(each: Family) -> Iterable[str]:
    """The text of one metric."""
    yield f"# HELP {each.name} {each.help}"
    yield f"# TYPE {each.name} {each.kind}"
    rows = each.values or ({(): [0.0]} if not each.labels and each.kind != "histogram" else {})
    for values, row in sorted(rows.items()):
        named = dict(zip(each.labels, values, strict=True))
        if each.kind != "histogram":
            yield f"{each.name}{_braces(named)} {_number(row[0])}"
            continue
        total = 0.0
        for bound, count in zip((*SECONDS, math.inf), row, strict=False):
            total += count
            yield f"{each.name}_bucket{_braces(named | {'le': _number(bound)})} {_number(total)}"
        yield f"{each.name}_sum{_braces(named)} {_number(row[-1])}"
        yield f"{each.name}_count{_braces(named)} {_number(total)}"


def _braces(labels: Mapping[str, str]) -> str:
    """Labels as text, with their values escaped."""
    if not labels:
        return ""
    pairs = (
        '{}="{}"'.format(name, value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n"))
        for name, value in labels.items()
    )
    return "{" + ",".join(pairs) + "}"


def _number(value: float) -> str:
    """A number as Prometheus spells it."""
    if math.isinf(value):
        return "+Inf"
    return str(int(value)) if value == int(value) else repr(value)


def _resident_bytes() -> int:
    """What this process holds in memory; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
