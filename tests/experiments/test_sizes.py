import subprocess
import sys

import numpy as np
import pytest

from experiments import lines, sizes
from experiments.rivals import quantised


def test_the_smoke_run_measures_every_method_and_records_nothing(capsys, tmp_path, monkeypatch):
    pytest.importorskip("faiss")
    monkeypatch.setattr(lines, "RESULTS", tmp_path)
    sizes.run_smoke()
    printed = capsys.readouterr().out
    for method in ("mf", "ours", "uniform", "truncation", "faiss-sq8", "faiss-sq4"):
        assert f"{method} vector" in printed
    for person in ("vector+history", "history"):
        assert f"ours {person}" in printed
    assert "sparse-linear history" in printed or "itemcf history" in printed
    assert list(tmp_path.iterdir()) == []


def test_the_table_has_a_column_per_size_and_ours_first(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "RESULTS", tmp_path)
    known = {"dataset": "gowalla", "split": "published", "seconds": 1.0, "config": {"a": 1}}
    for seed, value in ((0, 0.1), (1, 0.2)):
        for method, mb in (("faiss-pq", 5), ("ours", 5), ("mf", None)):
            line = {"method": method, "person": "vector", "nominal_mb": mb, "budget_mb": mb}
            lines.append("sizes", {**known, **line, "seed": seed, "metrics": {"recall@50": value}})
    rows = sizes.table().splitlines()
    assert "| 5 MB |" in rows[0]
    assert rows[2].startswith("| gowalla | ours | vector |")
    assert "| 0.1500 |" in rows[2]
    assert rows[-1].endswith("| 0.1500 |")


def test_quantisers_give_back_vectors_near_the_originals(rng):
    pytest.importorskip("faiss")
    items = rng.normal(size=(2_000, 16)).astype(np.float32)
    errors = {
        name: float(((quantised(items, name) - items) ** 2).mean()) for name in ("SQ8", "SQ4")
    }
    assert errors["SQ8"] < 0.001 < errors["SQ4"] < 0.05


def test_help_says_what_is_measured():
    shown = subprocess.run(
        [sys.executable, "-m", "experiments.sizes", "run", "--help"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "--models" in shown.stdout
