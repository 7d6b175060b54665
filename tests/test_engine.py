"""Engines: every shard is done, in order, whatever dies; and results are the same by each."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from elasticrec.compression.compress import compress
from elasticrec.compression.config import CompressionConfig
from elasticrec.compression.neighbours import make_neighbours
from elasticrec.engine import Processes, map_shards, ranges, using
from elasticrec.errors import InputError
from elasticrec.evaluation.baselines import evaluate_baselines
from elasticrec.evaluation.measure import measure
from elasticrec.evaluation.ranking import queries_of
from elasticrec.files import fingerprint
from elasticrec.space import Composition

ROOT = Path(__file__).resolve().parent.parent


def doubled(shared, shard):
    return shared["table"][shard] * 2, os.getpid()


def dying(shared, shard):
    """Kill the worker, so often as the number in a file says."""
    left = Path(shared) / "left"
    if shard == 1 and (n := int(left.read_text())):
        left.write_text(str(n - 1))
        os.kill(os.getpid(), signal.SIGKILL)
    return shard


def refusing(shared, shard):
    if shard == 1:
        raise InputError("no such shard")
    return shard


def slow(shared, shard):
    (Path(shared) / f"{shard}-{os.getpid()}").touch()
    time.sleep(0.5)
    return np.full(100_000, shard)


def test_what_is_shared_reaches_every_worker_and_results_keep_their_order():
    table = np.arange(1000)
    with using("processes", workers=2):
        found = [*map_shards(doubled, range(1000), {"table": table})]
        again = [*map_shards(doubled, range(3), {"table": -table})]
    assert [value for value, _ in found] == [*range(0, 2000, 2)]
    assert [value for value, _ in again] == [0, -2, -4]
    workers = {worker for _, worker in found}
    assert os.getpid() not in workers
    assert {worker for _, worker in again} <= workers  # they are kept


@pytest.mark.parametrize("threads", [False, True])
def test_this_process_takes_shards_in_order_too(threads, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    found = map_shards(doubled, [3, 1, 2], {"table": np.arange(5)}, threads=threads)
    assert [*found] == [(6, os.getpid()), (2, os.getpid()), (4, os.getpid())]


def test_the_shard_of_a_killed_worker_is_done_again(tmp_path):
    (tmp_path / "left").write_text("2")
    with using("processes", workers=2):
        assert [*map_shards(dying, range(4), str(tmp_path))] == [0, 1, 2, 3]
    assert (tmp_path / "left").read_text() == "0"


def test_a_worker_that_died_while_it_had_nothing_to_do_is_replaced():
    table = {"table": np.arange(9)}
    with using("processes", workers=1):
        ((_, worker), _) = map_shards(doubled, [1, 2], table)
        os.kill(worker, signal.SIGKILL)
        time.sleep(0.2)
        assert [value for value, _ in map_shards(doubled, [3, 4], table)] == [6, 8]


def test_a_shard_that_kills_all_its_workers_is_refused(tmp_path):
    (tmp_path / "left").write_text("9")
    with using("processes", workers=2), pytest.raises(InputError, match="ended with -9"):
        [*map_shards(dying, range(4), str(tmp_path))]


@pytest.mark.parametrize("name", ["serial", "processes"])
def test_what_the_work_raises_comes_back(name):
    with using(name), pytest.raises(InputError, match=r"^no such shard$"):
        [*map_shards(refusing, range(3))]


def test_closing_ends_what_still_runs(tmp_path):
    engine = Processes(2)
    outcomes = engine.run(slow, range(20), str(tmp_path))
    next(outcomes)
    outcomes.close()
    engine.close()
    begun = len([*tmp_path.iterdir()])
    time.sleep(0.7)
    assert len([*tmp_path.iterdir()]) == begun < 20


@pytest.mark.parametrize(("name", "address"), [("spark", None), ("processes", "host:6379")])
def test_an_unknown_engine_is_refused(name, address):
    with pytest.raises(InputError, match=f"engine '{name}'"), using(name, address=address):
        pass


def test_ranges_cost_about_the_same():
    costs = np.array([5, 1, 1, 1, 1, 9, 1])
    assert ranges(costs, 4) == [(0, 1), (1, 4), (4, 6), (6, 7)]
    assert ranges(np.ones(10), 4) == [(0, 4), (4, 8), (8, 10)]
    assert ranges(np.ones(0), 4) == []


def results(split, monkeypatch):
    """Fingerprints of all that goes through the engine, in more shards than by default."""
    monkeypatch.setattr("elasticrec.data.cooccurrence.ENTRIES", 2_000)
    monkeypatch.setattr("elasticrec.compression.linear._PAIRS_AT_ONCE", 20_000)
    monkeypatch.setattr("elasticrec.evaluation.ranking._NUMBERS_ON_CPU", 200 * 64)
    config = CompressionConfig(stages=1, rounds=2, min_support=2)
    items = np.random.default_rng(0).standard_normal((split.n_items, 16)).astype(np.float32)
    codes, lists = compress(items, config), make_neighbours(split.train, config)
    whole = Composition.uniform(split.n_items, 4, 8)
    weights = np.full((codes.n_columns + 1, 2), 0.01, np.float32)
    found = measure(codes, lists, weights, whole, split, metrics=("ndcg@20",), device="cpu")
    beside = evaluate_baselines(queries_of(split), ("ndcg@20",))
    each = {"ours": found.per_user, **{name: e.per_user for name, e in beside.items()}}
    values = {name: metrics["ndcg@20"] for name, metrics in each.items()}
    assert min(value.mean() for value in values.values()) > 0
    return codes.fingerprint(), lists.fingerprint(), fingerprint(values)


def test_processes_give_what_this_process_gives(planted, monkeypatch):
    here = results(planted, monkeypatch)
    with using("processes", workers=2):
        assert results(planted, monkeypatch) == here


@pytest.mark.filterwarnings("default")
def test_ray_gives_each_shard_what_is_shared_and_tells_errors():
    pytest.importorskip("ray")
    with using("ray"):
        found = [*map_shards(doubled, range(50), {"table": np.arange(50)})]
        with pytest.raises(InputError, match=r"^no such shard$"):
            [*map_shards(refusing, range(3))]
    assert [value for value, _ in found] == [*range(0, 100, 2)]
    assert os.getpid() not in {worker for _, worker in found}


@contextmanager
def two_nodes():
    """A Ray cluster of a head without a core and two nodes with one, all on this machine."""
    cluster_utils = pytest.importorskip("ray.cluster_utils")
    cluster = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    try:
        nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
        with using("ray", address=cluster.address):
            yield cluster, nodes
    finally:
        cluster.shutdown()


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_two_nodes_of_ray_give_what_this_process_gives(planted, monkeypatch):
    here = results(planted, monkeypatch)
    with two_nodes():
        assert results(planted, monkeypatch) == here


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_node_of_ray_that_is_killed_in_mid_run_loses_nothing(tmp_path):
    with two_nodes() as (cluster, nodes):
        found = map_shards(slow, range(12), str(tmp_path))
        taken = [next(found), next(found)]
        cluster.remove_node(nodes[0], allow_graceful=False)
        taken += [*found]
    assert [int(part[0]) for part in taken] == [*range(12)]
    begun = [int(path.name.partition("-")[0]) for path in tmp_path.iterdir()]
    assert len(begun) > len(set(begun)) == 12  # what the node had was done again


MEMORY = """
import resource
import numpy as np, torch
from benchmarks.synthetic import planted_world
from elasticrec.compression.compress import compress
from elasticrec.compression.config import CompressionConfig
from elasticrec.compression.neighbours import make_neighbours
from elasticrec.evaluation.measure import measure
from elasticrec.space import Composition

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

n = 16_000
split = planted_world(n, n, 8 * n, np.random.default_rng(0))
few = {"stages": 1, "rounds": 1, "kmeans_rounds": 1, "shortest_list": 4, "longest_list": 4}
config = CompressionConfig(min_support=2, **few)
codes = compress(np.random.default_rng(0).standard_normal((n, 8)).astype(np.float32), config)
before = peak()
lists = make_neighbours(split.train, config)
taken = peak() - before
weights = np.ones((codes.n_columns + 1, 2), np.float32)
whole = Composition.uniform(n, 3, 4)
found = measure(codes, lists, weights, whole, split, metrics=("ndcg@20",), device="cpu")
print(n, found.n_users, taken, peak() - before)
"""


def test_neither_neighbours_nor_an_evaluation_hold_a_dense_matrix():
    shown = subprocess.run(
        [sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True, cwd=ROOT
    )
    n, n_users, lists, whole = map(int, shown.stdout.split())
    assert n_users > n / 2
    assert lists < n * n / 4  # a bit for each pair of items takes n² / 8 bytes, a number 4 n²
    assert whole < 2.5 * n * n
