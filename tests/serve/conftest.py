"""Served models: made once, each test with a shelf of its own."""

import base64
import shutil

import pytest

from elasticrec.serve.config import ServeConfig
from elasticrec.serve.tokens import Keys
from tests.serve.client import Running
from tests.serve.making import servable

KEYS = {"new": b"n" * 32, "old": b"o" * 32}


@pytest.fixture(scope="session")
def made_models(tmp_path_factory):
    """Two models: `books`, whose persons have vectors, and `films`, known by history."""
    root = tmp_path_factory.mktemp("made")
    servable(root / "books")
    servable(root / "films", seed=1, history=True, n_items=500, n_groups=3)
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

    def begin(ready=True, **settings):
        settings = {
            "models": (made_models,),
            "shelf": tmp_path / "shelf",
            "poll_seconds": 0.05,
            "plan_ahead": False,
            "keys": tmp_path / "keys.txt",
        } | settings
        running.append(Running(ServeConfig(**settings)).__enter__())
        return running[-1].ready() if ready else running[-1]

    yield begin
    for each in running:
        each.__exit__()


@pytest.fixture
def client(start):
    """One service of both models."""
    return start()
