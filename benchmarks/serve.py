"""The download service under load, client and server on one machine.

    python -m benchmarks.serve [--only ready,cold,throughput,warm,many,kill] [--seconds 10]

The model has Amazon-Book's size (91,599 items in 20 groups of 16 blocks) and random codes; its
estimator is an FM of d0 = 64. The rival of a download is Starlette's StaticFiles under the same
uvicorn with the same bytes in the same run; nginx is measured beside them where it is installed.
Latencies are from the moment a request should have been sent, so that waiting counts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.lines import append, comparison
from benchmarks.plain.load import (
    DOWNLOADS,
    NAME,
    OPEN,
    RATE,
    asked,
    cold,
    downloads,
    in_json,
    mixed,
    steady,
)
from benchmarks.plain.servers import nginx_server, resident_bytes, static_server
from tests.serve.crash import kill_rounds
from tests.serve.making import servable
from tests.serve.server import Server

SHAPE = {"n_items": 91_599, "n_users": 52_643, "n_groups": 20, "n_blocks": 16, "width": 64}
LIMITS = {"ready": 5.0, "cold": 0.3, "throughput": 0.7, "warm": 0.02, "errors": 0, "memory": 0.1}
"""Seconds; the least ratio to the static server; seconds; requests; the most growth."""


def p99(values: list[float]) -> float:
    """The 99th percentile."""
    return float(np.percentile(values, 99))


class Bench:
    """A model, a place for shelves, and what was found to be too slow."""

    def __init__(self, place: Path, seconds: float) -> None:
        self.place, self.seconds = place, seconds
        self.models = place / "models"
        self.failed: list[str] = []
        self._shelves = 0
        servable(self.models / NAME, **SHAPE)

    def server(self, *options: str, fresh: bool = True) -> Server:
        """A server with a shelf of its own, or with the last one."""
        self._shelves += fresh
        shelf = self.place / f"shelf{self._shelves}"
        return Server(self.models, shelf, self.place / "log", *options)

    def note(self, method: str, metrics: dict[str, Any], good: bool, **config: Any) -> None:
        """Append a line, print it, and remember a failure."""
        append("serve", {"method": method, "metrics": metrics, "config": SHAPE | config})
        rival = "" if metrics["rival"] is None else f", rival {metrics['rival']:.4g}"
        more = {k: v for k, v in metrics.items() if k not in ("value", "unit", "rival", "ratio")}
        said = "" if good else "   MISSED"
        print(f"{method:22} {metrics['value']:.4g} {metrics['unit']}{rival} {more}{said}")
        if not good:
            self.failed.append(method)

    def ready(self) -> None:
        """From the start of the process to the first good answer of /readyz, on a new shelf."""
        taken = []
        for _ in range(3):
            with self.server() as server:
                taken.append(server.ready_seconds)
        value = median(taken)
        metrics = comparison(value, "s") | {"limit": LIMITS["ready"], "worst": max(taken)}
        self.note("ready", metrics, value < LIMITS["ready"])

    def cold(self, rounds: int = 4) -> None:
        """New budgets one by one, from the request to the last byte; nothing was planned."""
        taken: list[float] = []
        rng = np.random.default_rng(0)
        for _ in range(rounds):
            with self.server("--no-plan-ahead") as server:
                taken += asyncio.run(cold(server.port, rng))
        metrics = comparison(p99(taken), "s") | {"limit": LIMITS["cold"], "median": median(taken)}
        config = {"budgets": len(taken), "most": max(taken)}
        self.note("cold p99", metrics | config, p99(taken) < LIMITS["cold"])

    def throughput(self, rounds: int = 5) -> None:
        """Bytes per second of a bundle of 5 MB that is on the shelf, by turns with the rivals."""
        with self.server() as server:
            answer = asyncio.run(asked(server.port, in_json("5MB")))
            about = json.loads(answer.body)
            files = self.place / f"shelf{self._shelves}" / "files"
            name = f"{about['sha256']}.elastic"
            found: dict[str, list[float]] = {"ours": [], "static": [], "nginx": []}
            with static_server(files) as static, nginx_server(files, self.place) as nginx:
                places = {"ours": (server.port, about["url"]), "static": (static, f"/{name}")}
                if nginx:
                    places["nginx"] = (nginx, f"/{name}")
                for _ in range(rounds):
                    for each, (port, path) in places.items():
                        rate = downloads(port, path, about["file_bytes"], self.seconds / 2)
                        found[each].append(asyncio.run(rate))
        ours, static_rate = median(found["ours"]), median(found["static"])
        metrics = comparison(ours, "MB/s", rival=static_rate, better="higher")
        metrics |= {"limit": LIMITS["throughput"]}
        if found["nginx"]:
            metrics["nginx"] = median(found["nginx"])
        good = ours / static_rate >= LIMITS["throughput"]
        config = {"downloads": DOWNLOADS, "file_bytes": about["file_bytes"], "rounds": rounds}
        self.note("cached 5 MB", metrics, good, **config)

    def warm(self) -> None:
        """Metadata of known bundles at a steady rate over many open connections."""
        with self.server() as server:
            taken, errors = asyncio.run(steady(server.port, self.seconds * 2))
        metrics = comparison(p99(taken), "s") | {"limit": LIMITS["warm"], "median": median(taken)}
        good = p99(taken) < LIMITS["warm"] and not errors
        config = {"connections": OPEN, "per_second": RATE, "requests": len(taken)}
        self.note("warm metadata p99", metrics | {"errors": errors}, good, **config)

    def many(self, requests: int) -> None:
        """All kinds of requests: errors, and how much memory the server holds afterwards."""
        with self.server() as server:
            asyncio.run(mixed(server.port, requests // 10))
            before = resident_bytes(server.process.pid)
            started = time.perf_counter()
            errors = asyncio.run(mixed(server.port, requests))
            seconds = time.perf_counter() - started
            growth = resident_bytes(server.process.pid) / before - 1
        rate = {"per_second": requests / seconds, "limit": LIMITS["errors"]}
        self.note("errors", comparison(errors, "requests") | rate, not errors, requests=requests)
        metrics = comparison(growth, "share") | {"limit": LIMITS["memory"], "before": before}
        self.note("memory growth", metrics, growth < LIMITS["memory"], requests=requests)

    def kill(self, rounds: int) -> None:
        """kill -9 at random moments; every assertion is inside."""
        steps = list(range(5_000_000, 14_000_000, 100_000))
        options = [word for step in steps for word in ("--step", str(step))]
        root = self.place / "killed"
        root.mkdir()
        (root / "books").symlink_to(self.models / NAME)
        told = kill_rounds(
            root, self.place / "crash", self.place / "log", steps, rounds,
            np.random.default_rng(0), options=options,
        )  # fmt: skip
        told["bundles"] = len(told["bundles"])
        metrics = comparison(0, "damaged files or downloads") | told
        self.note("kill -9", metrics, True, rounds=rounds)


def main() -> int:
    """0 when everything is within its limit; appends a line for each measurement."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="ready,cold,throughput,warm,many,kill")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--kills", type=int, default=50)
    arguments = parser.parse_args()
    more: dict[str, tuple[int, ...]] = {"many": (arguments.requests,), "kill": (arguments.kills,)}
    with tempfile.TemporaryDirectory(prefix="elasticrec-serve-") as place:
        bench = Bench(Path(place), arguments.seconds)
        for name in arguments.only.split(","):
            getattr(bench, name)(*more.get(name, ()))
    print("all within their limits" if not bench.failed else f"missed: {', '.join(bench.failed)}")
    return int(bool(bench.failed))


if __name__ == "__main__":
    sys.exit(main())
