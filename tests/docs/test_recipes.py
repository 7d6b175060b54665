"""Recipes in Python run as they are printed."""

import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "recipes.md").read_text(encoding="utf-8")


@pytest.mark.filterwarnings("ignore")  # of the tracker
def test_a_tracker_is_told_numbers_of_every_size(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="no mlflow: its recipe was not run")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    rng = np.random.default_rng(0)
    rows = [f"{user},{item}" for user in range(200) for item in rng.choice(40, 11, replace=False)]
    Path("ratings.csv").write_text("\n".join(["user,item", *rows]))
    (code,) = re.findall(r"^```python\n(import mlflow.*?)^```$", PAGE, flags=re.M | re.S)
    assert code.count("seed=1") == 1
    exec(code.replace("seed=1", "'demo', seed=1, epochs=2, evaluate_every=1"), {})
    run = mlflow.last_active_run()
    assert run.info.status == "FINISHED"
    assert run.data.params == {
        "preset": "demo", "seed": "1", "device": "auto", "epochs": "2", "evaluate_every": "1",
    }  # fmt: skip
    client = mlflow.MlflowClient()
    sizes = client.get_metric_history(run.info.run_id, "measure/recall_at_50")
    epochs = client.get_metric_history(run.info.run_id, "validation/recall_at_50")
    assert [each.step for each in epochs] == [1, 2]
    assert len(sizes) > 2
    assert sorted({each.step for each in sizes}) == [each.step for each in sizes]
