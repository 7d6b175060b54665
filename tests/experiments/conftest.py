"""A folder of one small prepared world, and results that are kept apart."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.synthetic import planted_world
from elasticrec.compression.config import CompressionConfig
from elasticrec.ordering.order import OrderConfig
from elasticrec.ordering.search import OrderSearchConfig
from elasticrec.presets import PRESETS, Preset
from elasticrec.stream.curve import CurveConfig
from elasticrec.training.config import TrainConfig
from experiments import comparing, default, lines, rule, streams


@pytest.fixture
def results(tmp_path, monkeypatch):
    """The folder of result lines."""
    monkeypatch.setattr(lines, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(comparing, "VALUES", tmp_path / "values")
    monkeypatch.setattr(streams, "TABLES", tmp_path / "tables")
    monkeypatch.setattr(default, "MODELS", tmp_path / "models")
    monkeypatch.setattr(rule, "SAMPLES", tmp_path / "samples")
    return tmp_path / "results"


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """A folder with `goodbooks.npz`, which holds a planted world."""
    folder = tmp_path_factory.mktemp("data")
    split = planted_world(240, 300, 6_000, np.random.default_rng(0), n_clusters=6)
    replace(split, name="goodbooks").save(folder / "goodbooks.npz")
    return folder


@pytest.fixture
def small_preset(monkeypatch):
    """The default preset, so small that a test has time for it."""
    small = Preset(
        train=TrainConfig(n_blocks=4, epochs=2, negatives=64, evaluate_every=1),
        compression=CompressionConfig(stages=1, most_residual=3, points=512, rounds=2),
        order=OrderSearchConfig(
            sizes=(20,), vote_sizes=(20,), columns_per_slot=(2.0, 8.0), leads=(0, 4),
            vote_multiples=(0.5, 1.0), vote_powers=(0.5,), vote_grid=2, n_persons=60,
            order=OrderConfig(group_items=20),
        ),
        curve=CurveConfig(persons=40),
    )  # fmt: skip
    monkeypatch.setitem(PRESETS, "default", small)
    return small
