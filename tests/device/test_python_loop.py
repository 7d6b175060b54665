"""The Python runtime scores as plain loops in C do, bit by bit, over many stretches."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import elasticrec_device
from benchmarks.plain.bundle import make_bundle
from benchmarks.plain.device import Loop


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler: scores were not compared")
@pytest.mark.parametrize(("items", "megabytes", "columns"), [(70_001, 1, False), (40_000, 2, True)])
def test_scores_are_those_of_the_loops(items, megabytes, columns, tmp_path):
    file, vector = make_bundle(items, megabytes, columns, seed=0)
    loop, rng = Loop(tmp_path), np.random.default_rng(0)
    with elasticrec_device.open(file) as bundle:
        history = np.unique(rng.integers(0, items, 200))
        for user in (vector, None):
            known = bundle.taste(history) if user is None else bundle.server_vector(user)
            scorer = elasticrec_device._Scorer(bundle, known, history, user is None)
            ours = np.concatenate([scores.copy() for _, scores in scorer.stretches()])
            theirs = loop.prepare(scorer, elasticrec_device._kinds)()
            assert len(ours) == items
            assert ours.tobytes() == theirs.tobytes()
