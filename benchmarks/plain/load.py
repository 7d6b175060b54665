"""Requests of clients to the service in its benchmark."""

from __future__ import annotations

import asyncio
import json
import time

import numpy as np

from benchmarks.plain.http import Answer, Connection

NAME = "large"
"""The name of the model."""
STREAM = f"/models/{NAME}/stream.elastic"
DOWNLOADS, OPEN, RATE = 8, 200, 500
"""Downloads at once; connections and requests per second of the steady measurement."""
RANGE_BYTES = 50_000
"""Bytes of a small request."""


async def asked(port: int, path: str, *headers: str, keep: bool = False) -> Answer:
    """One answer over a connection of its own."""
    connection = await Connection(port).open()
    try:
        return await connection.get(path, *headers, keep=keep)
    finally:
        connection.close()


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
    """Seconds of each request of a steady stream, and the number that failed."""
    connections = [await Connection(port).open() for _ in range(OPEN)]
    taken: list[float] = []
    errors = 0
    start = time.perf_counter() + 0.5

    async def client(number: int) -> None:
        nonlocal errors
        first = number * RANGE_BYTES
        wanted = f"Range: bytes={first}-{first + RANGE_BYTES - 1}"
        for due in np.arange(number, int(seconds * RATE), OPEN) / RATE:
            await asyncio.sleep(max(0, start + due - time.perf_counter()))
            answer = await connections[number].get(f"{STREAM}?budget=20MB", wanted)
            taken.append(time.perf_counter() - start - due)
            errors += (answer.status, answer.n_bytes) != (206, RANGE_BYTES)

    await asyncio.gather(*(client(number) for number in range(OPEN)))
    for connection in connections:
        connection.close()
    return taken, errors


async def mixed(port: int, requests: int) -> int:
    """The number of wrong answers among so many requests of all kinds."""
    facts = json.loads((await asked(port, f"/models/{NAME}", keep=True)).body)
    known = f"If-None-Match: {facts['etag']}"
    kinds: list[tuple[str, tuple[str, ...], int]] = [
        ("/models", (), 200),
        (f"/models/{NAME}", (), 200),
        (f"/models/{NAME}/curve.json", (), 200),
        (f"{STREAM}?budget=1MB", ("Range: bytes=0-9999",), 206),
        (STREAM, ("Range: bytes=1000000-1049999", f"If-Range: {facts['etag']}"), 206),
        (STREAM, (known,), 304),
        (f"{STREAM}?budget=1", (), 404),
        (f"{STREAM}?budget=odd", (), 400),
        (STREAM, ("Range: bytes=999999999999-",), 416),
        (f"/models/{NAME}/vector", (), 401),
        ("/readyz", (), 200),
        ("/", (), 200),
    ]
    errors, left = 0, iter(range(requests))

    async def client() -> None:
        nonlocal errors
        connection = await Connection(port).open()
        for number in left:
            path, headers, status = kinds[number % len(kinds)]
            answer = await connection.get(path, *headers)
            errors += answer.status != status
        connection.close()

    await asyncio.gather(*(client() for _ in range(OPEN)))
    return errors
