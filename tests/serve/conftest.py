"""Served models: made once, each test with a service of its own."""

import base64
import shutil

import pytest

from elasticrec.serve.middleware import ServeConfig
from elasticrec.serve.tokens import Keys
from tests.serve.client import Running
from tests.serve.making import servable

KEYS = {"new": b"n" * 32, "old": b"o" * 32}


@pytest.fixture(scope="session")
def made_models(tmp_path_factory):
    """Two models: `books`, known by history, and `films`, whose users have vectors."""
    root = tmp_path_factory.mktemp("made")
    servable(root / "books")
    servable(root / "films", seed=1, history=False, n_items=500)
    return root


@pytest.fixture(scope="session")
def large(tmp_path_factory):
    """A model whose stream does not fit into the buffers between a server and its client."""
    root = tmp_path_factory.mktemp("large") / "large"
    servable(root, n_items=200_000, n_blocks=1, columns=60, slots=1, n_users=1, titles=False)
    return root


@pytest.fixture
def models(made_models, tmp_path):
    """A copy of both models that a test may change."""
    shutil.copytree(made_models, tmp_path / "models")
    return tmp_path / "models"


@pytest.fixture
def keys(tmp_path):
    """The service's keys, also in a file."""
    lines = [f"{name}:{base64.b64encode(secret).decode()}" for name, secret in KEYS.items()]
    (tmp_path / "keys.txt").write_text("\n".join(lines))
    return Keys(KEYS)


@pytest.fixture
def start(made_models, tmp_path, keys):
    """Starts services, by default of both models, and ends them."""
    running = []

    def begin(**settings):
        settings = {
            "models": (made_models,),
            "poll_seconds": 0.05,
            "keys": tmp_path / "keys.txt",
        } | settings
        running.append(Running(ServeConfig(**settings)).__enter__())
        return running[-1]

    yield begin
    for each in running:
        each.__exit__()


@pytest.fixture
def client(start):
    """One service of both models."""
    return start()
