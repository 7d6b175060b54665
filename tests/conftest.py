"""What the tests share: tiny made worlds, and where real data and a GPU are, if anywhere."""

import os
from pathlib import Path

import numpy as np
import pytest

from elasticrec.data.synthetic import planted_world, two_tastes

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
