"""Tuning: a poor start is left for a clear lead only, and the command says how to use it."""

from dataclasses import replace

import pytest

from elasticrec.data.splitting import by_popularity
from tests.cli.running import refused, run

pytest.importorskip("torch")
pytest.importorskip("optuna")

POOR = ("train.learning_rate=1e-6", "train.init=random")


@pytest.fixture(scope="module")
def poor(tiny_preset):
    return replace(tiny_preset.train, learning_rate=1e-6, init="random")


def test_a_poor_start_is_left(planted, poor):
    from elasticrec.evaluation.ranking import evaluate
    from elasticrec.training.loop import train
    from elasticrec.tuning import TuneConfig, tune

    world, _ = by_popularity(planted)
    found = tune(world, poor, TuneConfig(trials=3), device="cpu")
    assert list(found.values) == ["default", "trial 1", "trial 2"]
    assert found.settings["learning_rate"] > 1e-6
    assert "init_power" not in found.settings  # of spectral first vectors alone
    assert found.values[found.choice.chosen] == max(found.values.values())
    values = [
        evaluate(train(world, config, device="cpu").table, world, part="validation",
                 metrics=[poor.metric]).metrics[poor.metric]
        for config in (poor, replace(poor, **found.settings))
    ]  # fmt: skip
    assert values[1] > 1.2 * values[0]
    assert values == pytest.approx([found.values["default"], found.values[found.choice.chosen]])


def test_without_a_clear_lead_nothing_changes(planted, tiny_preset):
    from elasticrec.tuning import TuneConfig, tune

    found = tune(planted, tiny_preset.train, TuneConfig(), seconds=0, device="cpu")
    assert list(found.values) == ["default"]
    assert found.settings == {}
    assert found.choice.chosen == "default"


def test_no_trial_begins_that_would_end_too_late(planted, tiny_preset):
    from elasticrec.tuning import TuneConfig, tune

    asked = planted, tiny_preset.train, TuneConfig(trials=2)
    assert len(tune(*asked, seconds=1e-3, device="cpu").values) == 1
    assert len(tune(*asked, seconds=60, later=1e9, device="cpu").values) == 1
    assert len(tune(*asked, seconds=60, device="cpu").values) == 2


def test_a_fit_with_minutes_takes_better_settings_and_keeps_them(
    tiny_split, tiny_preset, poor, tmp_path, monkeypatch
):
    from elasticrec import pipeline, tuning

    trying = tuning.TuneConfig(trials=3)
    preset = replace(tiny_preset, train=poor, tuning=trying, refit=True)

    def fit():
        return pipeline.fit(tiny_split, tmp_path / "MODEL", preset, device="cpu", minutes=1)

    model = fit()
    rate = model.about["preset"]["train"]["learning_rate"]
    assert rate > 1e-6
    assert rate == model.about["tuned"]["settings"]["learning_rate"]
    assert "training settings" in [choice["name"] for choice in model.about["choices"]]
    before = (model.root / "model.json").read_bytes()
    monkeypatch.setattr(tuning, "tune", None)  # a second fit looks for nothing
    fit()
    assert (model.root / "model.json").read_bytes() == before


def test_the_command_says_how_to_go_on(tiny_split, tiny_settings, tmp_path):
    tiny_split.save(tmp_path / "split.npz")
    words = [word for each in (*tiny_settings, *POOR) for word in ("--set", each)]
    asked = ("tune", tmp_path / "split.npz", "--trials", 2, "--device", "cpu", *words)
    first, lead, following = run(*asked).splitlines()
    assert "best of 2 trials" in first
    assert lead.startswith("trial 1 leads by ")
    command = following.removeprefix("next: elasticrec ").split()
    assert command[:2] == ["fit", str(tmp_path / "split.npz")]
    command[command.index("MODEL")] = str(tmp_path / "MODEL")
    assert "stream of" in run(*command)
    assert "no such file" in refused("tune", tmp_path / "none.csv")
