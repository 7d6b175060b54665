"""The service under load, client and server on one machine.

    python -m benchmarks.serve [--only ready,throughput,steady,many,kill] [--seconds 10]

The model has Amazon-Book's size (91,599 items, a stream of 25 MB) and random codes. The rival of a
download is Starlette's StaticFiles under the same uvicorn with the same bytes in the same run;
nginx is measured beside them where it is installed. Latencies are from the moment a request
should have been sent, so that waiting counts.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.lines import append, comparison
from benchmarks.plain.load import DOWNLOADS, NAME, OPEN, RATE, STREAM, downloads, mixed, steady
from benchmarks.plain.servers import nginx_server, resident_bytes, static_server
from elasticrec.stream.chunk import read_index
from tests.serve.making import servable
from tests.serve.server import Server
from tests.serve.test_crash import killed

SHAPE: dict[str, Any] = {"n_items": 91_599, "columns": 250, "slots": 8, "n_blocks": 1}
LIMITS = {"ready": 5.0, "throughput": 0.7, "steady": 0.02, "errors": 0, "memory": 0.1}
"""Seconds; the least ratio to the static server; seconds; requests; the most growth."""


class Bench:
    """A model, a place for logs, and the measurements that missed their limits."""

    def __init__(self, place: Path, seconds: float) -> None:
        self.place, self.seconds = place, seconds
        self.failed: list[str] = []
        servable(place / NAME, **SHAPE)

    def server(self) -> Server:
        """A server of the model."""
        return Server(self.place / NAME, log=self.place / "log")

    def note(self, method: str, metrics: dict[str, Any], good: bool, **config: Any) -> None:
        """Append a line, print it, and remember a failure."""
        append("serve", {"method": method, "metrics": metrics, "config": SHAPE | config})
        rival = "" if metrics["rival"] is None else f", rival {metrics['rival']:.4g}"
        more = {k: v for k, v in metrics.items() if k not in ("value", "unit", "rival", "ratio")}
        missed = "" if good else "   MISSED"
        print(f"{method:22} {metrics['value']:.4g} {metrics['unit']}{rival} {more}{missed}")
        if not good:
            self.failed.append(method)

    def ready(self) -> None:
        """Seconds from the start of the process to the first good answer of /readyz."""
        taken = []
        for _ in range(3):
            started = time.perf_counter()
            with self.server():
                taken.append(time.perf_counter() - started)
        value = median(taken)
        metrics = comparison(value, "s") | {"limit": LIMITS["ready"], "worst": max(taken)}
        self.note("ready", metrics, value < LIMITS["ready"])

    def throughput(self, rounds: int = 5) -> None:
        """Megabytes per second of a stream of 5 MB, by turns with the rivals."""
        path, folder = self.place / NAME / "stream.elastic", self.place / "static"
        length = read_index(path).longest_prefix(5_000_000)
        folder.mkdir()
        (folder / "file.elastic").write_bytes(path.read_bytes()[:length])
        found: dict[str, list[float]] = {"ours": [], "static": [], "nginx": []}
        with (
            self.server() as server,
            static_server(folder) as static,
            nginx_server(folder, self.place) as nginx,
        ):
            places = {"ours": (server.port, f"{STREAM}?budget=5MB")}
            places["static"] = (static, "/file.elastic")
            if nginx:
                places["nginx"] = (nginx, "/file.elastic")
            for _ in range(rounds):
                for each, (port, url) in places.items():
                    rate = downloads(port, url, length, self.seconds / 2)
                    found[each].append(asyncio.run(rate))
        ours, static_rate = median(found["ours"]), median(found["static"])
        metrics = comparison(ours, "MB/s", rival=static_rate, better="higher")
        metrics |= {"limit": LIMITS["throughput"]}
        if found["nginx"]:
            metrics["nginx"] = median(found["nginx"])
        good = ours / static_rate >= LIMITS["throughput"]
        config = {"downloads": DOWNLOADS, "file_bytes": length, "rounds": rounds}
        self.note("stream of 5 MB", metrics, good, **config)

    def steady(self) -> None:
        """Ranges of prefixes at a steady rate over many open connections."""
        with self.server() as server:
            taken, errors = asyncio.run(steady(server.port, self.seconds * 2))
        p99 = float(np.percentile(taken, 99))
        metrics = comparison(p99, "s") | {"limit": LIMITS["steady"], "median": float(median(taken))}
        config = {"connections": OPEN, "per_second": RATE, "requests": len(taken)}
        good = p99 < LIMITS["steady"] and not errors
        self.note("range of a prefix p99", metrics | {"errors": errors}, good, **config)

    def many(self, requests: int) -> None:
        """Wrong answers among requests of all kinds, and the growth of the server's memory."""
        with self.server() as server:
            asyncio.run(mixed(server.port, requests // 10))
            before = resident_bytes(server.process.pid)
            started = time.perf_counter()
            errors = asyncio.run(mixed(server.port, requests))
            seconds = time.perf_counter() - started
            growth = resident_bytes(server.process.pid) / before - 1
        rate = {"per_second": requests / seconds, "limit": LIMITS["errors"]}
        config = {"connections": OPEN, "requests": requests}
        self.note("errors", comparison(errors, "requests") | rate, not errors, **config)
        metrics = comparison(growth, "share") | {"limit": LIMITS["memory"], "before": before}
        self.note("memory growth", metrics, growth < LIMITS["memory"], **config)

    def kill(self, rounds: int) -> None:
        """Downloads resumed after kill -9 and, by turns, SIGTERM; all are compared."""
        rng = np.random.default_rng(0)
        resumed = killed(self.place / NAME, self.place / "log", rounds, rng)
        metrics = comparison(0, "damaged downloads") | {"resumed": resumed}
        self.note("kill -9 and SIGTERM", metrics, True, rounds=rounds)


def main() -> int:
    """0 when everything is within its limit; appends a line for each measurement."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="ready,throughput,steady,many,kill")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--kills", type=int, default=100)
    arguments = parser.parse_args()
    more: dict[str, tuple[int, ...]] = {"many": (arguments.requests,), "kill": (arguments.kills,)}
    with tempfile.TemporaryDirectory(prefix="elasticrec-serve-") as place:
        bench = Bench(Path(place), arguments.seconds)
        for name in arguments.only.split(","):
            getattr(bench, name)(*more.get(name, ()))
    missed = ", ".join(bench.failed)
    print(f"missed: {missed}" if missed else "all within their limits")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
