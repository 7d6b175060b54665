"""What clients do to the download service in its benchmark."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable

import numpy as np

from benchmarks.plain.http import Answer, Connection

NAME = "book"
"""What the model is called."""
DOWNLOADS, OPEN, RATE = 8, 200, 500
"""Downloads at once; connections and requests per second of the warm measurement."""
COLD_BYTES = 500_000
"""Cold budgets from here up."""
Ask = Callable[[Connection], Awaitable[Answer]]


def bundles(budget: int | str) -> str:
    """Where the bundle of a budget is."""
    return f"/v1/models/{NAME}/bundles?budget={budget}"


def in_json(budget: int | str) -> Ask:
    """Asks about the bundle of a budget."""
    return lambda connection: connection.get(bundles(budget), "Accept: application/json", keep=True)


async def asked(port: int, ask: Ask) -> Answer:
    """One answer over a connection of its own."""
    connection = await Connection(port).open()
    try:
        return await ask(connection)
    finally:
        connection.close()


async def cold(port: int, rng: np.random.Generator) -> list[float]:
    """Seconds of each new budget in random order."""
    connection = await Connection(port).open()
    models = json.loads((await connection.get("/v1/models", keep=True)).body)["models"]
    steps = [step for step in models[0]["steps"] if step >= COLD_BYTES]
    taken = []
    for step in rng.permutation(steps).tolist():
        started = time.perf_counter()
        found = await connection.get(bundles(step))
        answer = await connection.get(found.headers["location"])
        assert (found.status, answer.status) == (307, 200)
        taken.append(time.perf_counter() - started)
    connection.close()
    return taken


async def downloads(port: int, path: str, length: int, seconds: float) -> float:
    """Megabytes per second of several clients that download the same file again and again."""
    end, total = time.perf_counter() + seconds, 0

    async def client() -> None:
        nonlocal total
        connection = await Connection(port).open()
        while time.perf_counter() < end:
            answer = await connection.get(path)
            assert (answer.status, answer.n_bytes) == (200, length)
            total += answer.n_bytes
        connection.close()

    started = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(DOWNLOADS)))
    return total / (time.perf_counter() - started) / 1e6


async def steady(port: int, seconds: float) -> tuple[list[float], int]:
    """Seconds of each request of a steady stream, and how many failed."""
    asks = [in_json(f"{size}MB") for size in (1, 2, 5, 10)]
    for ask in asks:
        await asked(port, ask)
    connections = [await Connection(port).open() for _ in range(OPEN)]
    taken: list[float] = []
    errors = 0
    start = time.perf_counter() + 0.5

    async def client(number: int) -> None:
        nonlocal errors
        for due in np.arange(number, int(seconds * RATE), OPEN) / RATE:
            await asyncio.sleep(max(0, start + due - time.perf_counter()))
            answer = await asks[number % len(asks)](connections[number])
            taken.append(time.perf_counter() - start - due)
            errors += answer.status != 200

    await asyncio.gather(*(client(number) for number in range(OPEN)))
    for connection in connections:
        connection.close()
    return taken, errors


async def mixed(port: int, requests: int) -> int:
    """How many of so many requests of all kinds went wrong."""
    about = json.loads((await asked(port, in_json("5MB"))).body)
    other = json.loads((await asked(port, in_json("10MB"))).body)
    upgrade = f"/v1/bundles/{about['sha256']}/upgrade?to={other['sha256']}"
    known = f'If-None-Match: "{about["sha256"]}"'
    kinds: list[tuple[str, tuple[str, ...], int]] = [
        (bundles("5MB"), ("Accept: application/json",), 200),
        (bundles("7.3MB"), (), 307),
        (about["url"], (known,), 304),
        (about["url"], ("Range: bytes=1000000-1065535",), 206),
        (upgrade, ("Range: bytes=0-65535",), 206),
        (f"/v1/models/{NAME}/curve", (), 200),
        ("/v1/models", (), 200),
        (bundles("1KB"), (), 404),
        (f"/v1/models/{NAME}/users/u1/vector", (), 401),
        ("/metrics", (), 200),
    ]
    weights = np.array([40, 20, 10, 8, 2, 2, 10, 4, 3.9, 0.1])
    chosen = np.random.default_rng(0).choice(len(kinds), requests, p=weights / weights.sum())
    errors, clients = 0, 50

    async def client(number: int) -> None:
        nonlocal errors
        connection = await Connection(port).open()
        for kind in chosen[number::clients]:
            path, headers, expected = kinds[kind]
            try:
                errors += (await connection.get(path, *headers)).status != expected
            except (OSError, ValueError):
                errors += 1
                connection = await Connection(port).open()
        connection.close()

    await asyncio.gather(*(client(number) for number in range(clients)))
    return errors
