import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from elasticrec.errors import InputError
from elasticrec.rule.estimator.ledger import Ledger
from elasticrec.rule.estimator.samples import collect

SCRIPT = '''
import os, sys, time
from functools import partial
from pathlib import Path

import numpy as np

from elasticrec.rule.estimator.ledger import Ledger
from elasticrec.rule.estimator.samples import collect
from elasticrec.rule.randomizer import draw_free


class Slow:
    """Takes a while, and says in which process it lives."""

    metric, batch = "recall@1", 3

    def __init__(self, folder, wait):
        (Path(folder) / f"worker-{os.getpid()}").touch()
        self.wait = wait

    def evaluate(self, depths, neighbours):
        time.sleep(self.wait * len(depths))
        return (depths * np.arange(1, depths[0].size + 1).reshape(depths[0].shape)).sum((1, 2)) / 7


if __name__ == "__main__":
    folder, workers, n, wait = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    draw = partial(draw_free, seed=5, n_groups=3, n_blocks=4)
    with Ledger(Path(folder) / "ledger", {"model": "m"}) as ledger:
        collect(ledger, range(n), draw, partial(Slow, folder, wait), workers=workers)
'''


@pytest.fixture
def script(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)

    def command(name, workers, n, wait=0.0):
        (tmp_path / name).mkdir(exist_ok=True)
        given = map(str, (tmp_path / name, workers, n, wait))
        return [sys.executable, str(tmp_path / "script.py"), *given]

    return command


def lines_of(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_any_number_of_workers_writes_the_same_file(tmp_path, script):
    for workers in (1, 2, 3):
        subprocess.run(script(f"by{workers}", workers, 50), check=True)
    first, *others = ((tmp_path / f"by{workers}" / "ledger").read_bytes() for workers in (1, 2, 3))
    assert len(first.splitlines()) == 51
    assert all(other == first for other in others)
    assert len(list((tmp_path / "by3").glob("worker-*"))) == 3


@pytest.mark.parametrize("workers", [1, 2])
def test_kill_9_loses_and_repeats_nothing(tmp_path, script, workers):
    subprocess.run(script("whole", 1, 60), check=True)
    ledger = tmp_path / "killed" / "ledger"
    seen = []
    for more in (6, 12):
        process = subprocess.Popen(script("killed", workers, 60, wait=0.02))
        wanted = len(seen) + more
        while not ledger.exists() or ledger.read_bytes().count(b"\n") < wanted:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        kept = lines_of(ledger)
        assert kept[: len(seen)] == seen  # nothing finished was lost
        assert len(kept) < 61  # it was killed at work
        seen = kept
    with ledger.open("ab") as file:
        file.write(b'{"i":59,"y":0.3')  # and a torn line
    subprocess.run(script("killed", workers, 60), check=True)
    assert ledger.read_bytes() == (tmp_path / "whole" / "ledger").read_bytes()


def test_workers_end_when_their_parent_is_killed(tmp_path, script):
    process = subprocess.Popen(script("orphans", 2, 500, wait=0.05))
    places = tmp_path / "orphans"
    while len(list(places.glob("worker-*"))) < 2:
        assert process.poll() is None
        time.sleep(0.02)
    workers = [int(path.name.removeprefix("worker-")) for path in places.glob("worker-*")]
    process.send_signal(signal.SIGKILL)
    process.wait()
    until = time.monotonic() + 20
    while any(alive(pid) for pid in workers):
        assert time.monotonic() < until
        time.sleep(0.05)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"  # a zombie has ended, too
    except FileNotFoundError:
        return False


class Counting:
    """Counts what it is asked for, in this process."""

    metric, batch = "recall@1", 4

    def __init__(self):
        self.asked = 0

    def evaluate(self, depths, neighbours):
        self.asked += len(depths)
        return depths.sum(axis=(1, 2)) / 100.0


def draw(numbers):
    from elasticrec.rule.randomizer import draw_free

    return draw_free(numbers, seed=1, n_groups=3, n_blocks=4)


def test_only_what_is_missing_is_measured_and_progress_adds_up(tmp_path):
    told, evaluator = [], Counting()
    with Ledger(tmp_path / "l", {}) as ledger:
        collect(ledger, range(10), draw, lambda: evaluator)
        more = collect(ledger, [3, 12, 11, 10], draw, lambda: evaluator, progress=told.append)
    assert evaluator.asked == 13
    assert told == [1, 3]
    assert np.array_equal(more.depths, draw([3, 12, 11, 10]).depths)
    assert np.array_equal(more.values, more.depths.sum(axis=(1, 2)) / 100.0)


def test_no_evaluator_is_made_when_all_is_there_and_no_workers_are_refused(tmp_path):
    with Ledger(tmp_path / "l", {}) as ledger:
        collect(ledger, range(3), draw, Counting)
        collect(ledger, range(2), draw, None)
        with pytest.raises(InputError, match="0 workers"):
            collect(ledger, range(3), draw, Counting, workers=0)
