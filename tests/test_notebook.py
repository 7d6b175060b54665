"""A notebook shows the progress of a fit below its cell."""

import pytest

CELL = """
import numpy as np
from elasticrec import ElasticRecommender
from benchmarks.synthetic import two_tastes
split = two_tastes(24, 40, np.random.default_rng(0))
made = ElasticRecommender(n_blocks=1, epochs=8, batch_size=64, device="cpu").fit(split)
made
"""


def test_a_notebook_shows_the_lines_of_a_fit(monkeypatch):
    pytest.importorskip("torch")
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    nbclient.NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    outputs = notebook.cells[0].outputs
    lines = "".join(
        each["text"] for each in outputs if each["output_type"] == "stream"
    ).splitlines()
    assert lines[0].startswith("prepare: 24 users, 40 items")
    assert any(line.startswith("epoch 8: loss") for line in lines)
    assert lines[-1].startswith("recall@50 ")
    assert "of ItemKNN" in lines[-1] or "of popularity" in lines[-1]
    assert outputs[-1]["data"]["text/plain"].startswith(
        "ElasticRecommender('default', device='cpu', "
    )
