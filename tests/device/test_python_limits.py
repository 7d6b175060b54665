"""What the Python runtime may need: one short file, NumPy, and little memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import elasticrec_device
from benchmarks.device import MEMORY_LIMIT, peak_bytes
from benchmarks.plain.bundle import make_bundle
from elasticrec.bundle.writer import pack
from elasticrec.space.composition import Composition, Menu
from tests.bundle.making import random_material

SOURCE = Path(elasticrec_device.__file__)


def run_alone(code: str) -> str:
    """What a program prints that knows the runtime's folder and nothing of ours."""
    env = {"PYTHONPATH": str(SOURCE.parent), "PATH": os.environ["PATH"]}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=env).stdout


def test_it_is_one_short_file():
    assert len(SOURCE.read_text(encoding="utf-8").splitlines()) < 600
    assert [path.name for path in SOURCE.parent.glob("**/*.py")] == [SOURCE.name]


def test_it_imports_numpy_and_the_standard_library_alone():
    known = "sys.stdlib_module_names | {'numpy', 'elasticrec_device'}"
    code = f"""
import sys
before = set(sys.modules)
import elasticrec_device
names = {{name.split('.')[0] for name in set(sys.modules) - before}}
print(sorted(name for name in names - ({known}) if not name.startswith('_')))
"""
    assert run_alone(code) == "[]\n"


def test_its_distribution_depends_on_numpy_alone():
    project = tomllib.loads((SOURCE.parent / "pyproject.toml").read_text())["project"]
    assert project["name"] == "elasticrec-device"
    assert [each.split(">")[0] for each in project["dependencies"]] == ["numpy"]


@pytest.mark.parametrize(("items", "megabytes"), [(91_599, 5), (105_843, 25)])
def test_the_whole_process_stays_below_64_mb(items, megabytes, tmp_path):
    """At the largest size and at a usual one; the benchmark asserts it at all."""
    bundle, vector = make_bundle(items, megabytes, columns=False, seed=0)
    path = tmp_path / "made.elastic"
    path.write_bytes(bundle)
    path.with_suffix(".vector").write_bytes(vector)
    assert len(bundle) > 0.95e6 * megabytes
    assert 25e6 < peak_bytes(path) < MEMORY_LIMIT


def wide_bundle(depth: int, sizes: list[int]) -> bytes:
    """A bundle of 256 blocks: tables of all its columns are larger than the file."""
    rng = np.random.default_rng(0)
    menu = Menu(np.full((1, 256), depth), np.array([1]))
    material = random_material(rng, sizes, 256, menu=menu)
    rows = np.zeros(len(sizes), dtype=np.int64)
    return pack(material, Composition(menu.depths[rows], menu.neighbours[rows]), about={})


@pytest.mark.parametrize(
    ("depth", "sizes"), [(8, [1, 1]), (8, [5, 3]), (3, [300]), (1, [2000, 40])]
)
def test_a_question_takes_at_most_1_mb_and_twice_the_file(depth, sizes):
    file = wide_bundle(depth, sizes)
    elasticrec_device.open(file).recommend([0])  # what NumPy makes at first use is not counted
    tracemalloc.start()
    try:
        with elasticrec_device.open(file) as bundle:
            bundle.recommend([0, 1, 2], k=5, why=True)
            bundle.similar(0, 5)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1e6 + 2 * len(file)


def test_items_that_keep_nothing_cost_nothing():
    """A file may know eight items per byte; none of them takes memory."""
    rng = np.random.default_rng(0)
    menu = Menu(np.array([[0], [1]]), np.array([0, 0]))
    sizes = [16_000, 5]
    material = random_material(rng, sizes, 1, menu=menu)
    file = pack(material, Composition(menu.depths, menu.neighbours), about={})
    tracemalloc.start()
    try:
        with elasticrec_device.open(file) as bundle:
            assert len(bundle.recommend([1, 2, 16_003], k=10)) == 4
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3e5
