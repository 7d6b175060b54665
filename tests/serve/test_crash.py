"""A server killed at random moments leaves whole files, and one told to end finishes downloads."""

import hashlib
import signal
import threading
import time

import numpy as np
import pytest

from tests.serve.crash import ask, download, kill_rounds
from tests.serve.making import servable
from tests.serve.server import Server

STEPS = range(6_000_000, 12_000_000, 100_000)
"""Sizes that do not fit in the buffers between a server and its client."""


@pytest.fixture(scope="module")
def larger(tmp_path_factory):
    """A model whose bundles have up to a dozen megabytes."""
    root = tmp_path_factory.mktemp("larger") / "books"
    servable(root, n_items=100_000, n_blocks=8, titles=False)
    return root


def test_killed_at_random_everything_is_whole(larger, tmp_path):
    options = [word for step in STEPS for word in ("--step", str(step))]
    told = kill_rounds(
        larger,
        tmp_path / "shelf",
        tmp_path / "log",
        list(STEPS),
        rounds=3,
        rng=np.random.default_rng(1),
        options=options,
    )
    assert told["bundles"]
    assert told["cut off"]


def test_told_to_end_it_finishes_downloads(larger, tmp_path):
    into = []
    with Server(larger, tmp_path / "shelf", tmp_path / "log", "--no-plan-ahead") as server:
        place = ask(server.port, "/v1/models/books/bundles?budget=12MB")[1]["location"]
        sha256 = place.rpartition("/")[2]
        taking = threading.Thread(target=download, args=(server.port, sha256, into, 0.002))
        taking.start()
        while not into or not into[0].content:
            pass
        assert not into[0].is_done
        assert server.stop() in (0, -signal.SIGTERM)
        taking.join()
    assert into[0].is_done
    assert hashlib.sha256(into[0].content).hexdigest() == sha256
    assert "Traceback" not in (tmp_path / "log").read_text()


def until(holds, seconds=60):
    """Wait for something that another process does."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)


def searches(server):
    """How many searches all processes together say they made."""
    page = ask(server.port, "/metrics")[2].decode()
    found = [line for line in page.splitlines() if line.startswith("elasticrec_searches_total")]
    return sum(int(line.split()[1]) for line in found)


def test_several_processes_share_one_shelf(larger, tmp_path):
    options = ("--workers", "2", "--no-plan-ahead")
    with Server(larger, tmp_path / "shelf", tmp_path / "log", *options) as server:
        both = tmp_path / "shelf" / "workers"
        until(lambda: len(list(both.glob("*.json"))) == 2)  # one alone says that it is ready
        budgets = [400_000 + 50_000 * n for n in range(6)] * 4
        places = {}

        def get(budget):
            place = ask(server.port, f"/v1/models/books/bundles?budget={budget}")[1]["location"]
            places.setdefault(place, []).append(budget)
            content = ask(server.port, place)[2]
            assert hashlib.sha256(content).hexdigest() == place.rpartition("/")[2]

        threads = [threading.Thread(target=get, args=(budget,)) for budget in budgets]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(map(len, places.values())) == len(budgets)
        until(lambda: searches(server) == len(places))  # each tells its numbers now and then
        assert server.stop() in (0, -signal.SIGTERM)
