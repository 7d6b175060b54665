"""What the tests share: tiny made worlds, and where real data and a GPU are, if anywhere."""

import os
import shutil
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


def quick_neighbours(train):
    """The co-occurring items of each item, their weights in 15 steps."""
    from elasticrec.training.cooccurrence import count_cooccurrence
    from elasticrec.compression.neighbours import SLOTS, Neighbours

    lists = count_cooccurrence(train, k=SLOTS)
    weights = np.ceil(15 * lists.weights / lists.weights.max()).astype(np.uint8)
    numbers = np.where(weights > 0, lists.items, 0).astype(np.uint32)
    return Neighbours(numbers, weights, np.linspace(0, 1, 16, dtype=np.float32))


@pytest.fixture(scope="session")
def _coded_once(tmp_path_factory, planted):
    """A coded model folder of the planted world with an estimator, to be copied."""
    from elasticrec.blocks.folder import ModelFolder
    from elasticrec.training.table import BlockTable
    from elasticrec.coding.mixing import Mixing
    from elasticrec.coding.planes import encode
    from elasticrec.rule.estimator.building import build_estimator
    from elasticrec.rule.estimator.config import EstimatorConfig, SamplesConfig
    from elasticrec.evaluation.coded import CodedModel
    from elasticrec.evaluation.mixing import MixingConfig, fit_mixing
    from elasticrec.space.energy import block_energy
    from elasticrec.space.menu import default_menu
    from elasticrec.space.regroup import SpaceConfig, regroup_folder

    U, S, Vt = np.linalg.svd(planted.train.csr().toarray(), full_matrices=False)
    users, items = (U[:, :32] * S[:32]).astype(np.float32), Vt[:32].T.astype(np.float32)
    folder = ModelFolder.create(tmp_path_factory.mktemp("coded") / "model")
    table = BlockTable(items.reshape(-1, 4, 8), users, "mf", fold_map=np.diag(S[:32]))
    folder.save_model(planted, table)
    grouped = regroup_folder(folder, SpaceConfig(n_groups=5))
    folder.describe(trained="2026-01-02")
    menu = default_menu(block_energy(grouped.table))
    codes = encode(grouped.table, grouped.groups.bounds, menu.depths, rng=np.random.default_rng(0))
    near = quick_neighbours(grouped.split.train)
    nothing = Mixing(np.zeros((menu.n_rows, 2)), by_root=True)
    model = CodedModel(codes, near, menu, nothing, grouped.table.users, grouped.table.fold_map)
    fitted = fit_mixing(model, grouped.split, MixingConfig(n_users=80, n_weights=6))
    for name, part in (("menu", menu), ("codes", codes), ("neighbours", near)):
        folder.save_part(name, part)
    folder.save_part("mixing", fitted.mixing)
    samples = SamplesConfig(n_samples=200, n_users=100, metric="recall@20", n_held_out=0)
    fitting = EstimatorConfig(
        widths=(8,), learning_rates=(0.02,), l2s=(1e-2,), steps=150, max_rounds=1
    )
    build_estimator(folder, samples, fitting, device="cpu")
    return folder.root


@pytest.fixture
def coded_folder(_coded_once, tmp_path):
    """A coded model folder of the planted world: codes, neighbours, weights, estimator."""
    from elasticrec.blocks.folder import ModelFolder

    shutil.copytree(_coded_once, tmp_path / "coded")
    return ModelFolder.open(tmp_path / "coded")
