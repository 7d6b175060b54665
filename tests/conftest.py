"""What the tests share: tiny made worlds, a fitted model, and where real data and a GPU are."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.synthetic import planted_world, two_tastes

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch: on tiny sizes threads only wait

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="session", name="two_tastes")
def two_tastes_split():
    """24 users, 40 items: each half of the users likes exactly one half of the items."""
    return two_tastes(24, 40, np.random.default_rng(0))


@pytest.fixture(scope="session")
def planted():
    """A world of 300 users, 200 items and 6,000 pairs, with clusters and popular items."""
    return planted_world(300, 200, 6_000, np.random.default_rng(0), n_clusters=8)


@pytest.fixture(scope="session")
def tiny_settings():
    """Settings as on a command line that fit the planted world in a moment."""
    return (
        *("train.n_blocks=4", "train.epochs=4", "train.batch_size=512", "train.negatives=64"),
        *("compression.stages=2", "compression.rounds=2", "compression.min_support=2"),
        *("order.columns_per_slot=1,4", "order.leads=0,2", "order.vote_multiples=0.5,1,2"),
        *("order.vote_powers=0.5", "order.vote_grid=2", "order.sizes=15,30", "order.vote_sizes=30"),
    )


@pytest.fixture(scope="session")
def tiny_preset(tiny_settings):
    """The same settings as a preset."""
    from elasticrec.cli._settings import configured

    return configured("demo", list(tiny_settings))


@pytest.fixture(scope="session")
def tiny_split(planted):
    """The planted world with ids and titles of its own: item i is 1000 + i, user u is 7 u."""
    from elasticrec.data.ids import Ids, as_objects

    items = np.arange(planted.n_items)
    return replace(
        planted,
        user_ids=Ids(7 * np.arange(planted.n_users)),
        item_ids=Ids(1000 + items),
        titles=as_objects([f"Book {i}" if i % 5 else "" for i in items.tolist()]),
    )


@pytest.fixture(scope="session")
def tiny_model(tiny_split, tiny_preset, tmp_path_factory):
    """A finished model of the planted world, as `elasticrec fit` makes it; not to be changed."""
    pytest.importorskip("torch")
    from elasticrec.pipeline import fit

    return fit(tiny_split, tmp_path_factory.mktemp("tiny") / "MODEL", tiny_preset, device="cpu")


@pytest.fixture
def tiny_copy(tiny_model, tmp_path):
    """A copy of the finished model's folder that a test may damage."""
    return Path(shutil.copytree(tiny_model.root, tmp_path / "MODEL"))


@pytest.fixture(scope="session")
def tiny_vectors(tiny_split, tiny_preset, tmp_path_factory):
    """A finished model whose users have vectors; not to be changed."""
    pytest.importorskip("torch")
    from elasticrec.pipeline import fit

    preset = replace(tiny_preset, train=replace(tiny_preset.train, base="mf", epochs=2))
    return fit(tiny_split, tmp_path_factory.mktemp("tiny") / "VECTORS", preset, device="cpu")


@pytest.fixture(scope="session")
def real_data():
    """The folder with `gowalla`, `yelp2018`, `amazon-book`: $ELASTICREC_DATA, or shared/data."""
    given = os.environ.get("ELASTICREC_DATA")
    places = [Path(given)] if given else [ROOT / "shared/data", ROOT.parent / "shared/data"]
    for place in places:
        if place.is_dir():
            return place
    pytest.skip("no real data: name its folder by ELASTICREC_DATA")


def pytest_runtest_setup(item):
    if item.get_closest_marker("gpu"):
        torch = pytest.importorskip("torch")
        if not torch.cuda.is_available():
            pytest.skip("no CUDA device")
