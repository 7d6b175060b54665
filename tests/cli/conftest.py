"""A model folder made in a moment, with an estimator that prefers popular groups."""

import numpy as np
import pytest

from elasticrec.blocks.folder import ModelFolder
from elasticrec.training.table import BlockTable
from elasticrec.rule.estimator.features import Features
from elasticrec.rule.estimator.model import Estimator
from elasticrec.space.regroup import SpaceConfig, regroup_folder

G, N, D = 5, 4, 8


def linear_estimator():
    """The sum of what each block is worth: the popular groups and the early blocks most."""
    worth = np.outer(np.linspace(1, 0.2, G), [0.4, 0.3, 0.2, 0.1]).ravel() / G
    nothing = {"code": (N, 2), "group": (G, 2), "ffn": (2, 2), "ffn_bias": (2,), "out": (2,)}
    weights = {name: np.zeros(shape) for name, shape in nothing.items()}
    weights |= {"bias": np.zeros(()), "linear": worth}
    about = {"metric": "recall@20", "n_users": 50, "seed": 0}
    return Estimator(Features(G, N), "fm", weights, about)


@pytest.fixture
def searchable(tmp_path, planted):
    """A folder with split, table, groups and estimator of the planted world."""
    seen = planted.train.csr().toarray()
    U, S, Vt = np.linalg.svd(seen, full_matrices=False)
    k = N * D
    users = (U[:, :k] * S[:k]).astype(np.float32)
    blocks = Vt[:k].T.reshape(-1, N, D).astype(np.float32)
    folder = ModelFolder.create(tmp_path / "model")
    folder.save_model(planted, BlockTable(blocks, users, "mf"))
    regroup_folder(folder, SpaceConfig(n_groups=G))
    estimator = linear_estimator()
    estimator.save(folder.path("estimator"))
    folder.record("estimator", estimator.fingerprint(), ("table", "groups"))
    return folder
