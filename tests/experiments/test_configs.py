"""Every recipe in `experiments/configs` can be read, and names only settings that exist."""

from dataclasses import replace
from pathlib import Path

import pytest

from experiments import lines
from experiments.bases import read_trials, settings
from experiments.tasks import CHOOSER, EVEN, MEASURED

CONFIGS = sorted((Path(lines.__file__).parent / "configs").glob("*.toml"))


def test_there_are_recipes():
    assert CONFIGS


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_recipes_parse(path):
    for trial in read_trials(path):
        assert trial["dataset"] in lines.DATASETS
        chooser = trial.pop(CHOOSER, {})
        assert 0 <= trial.pop(EVEN, 0) <= 1
        assert trial.pop(MEASURED, False) in (False, True)
        assert settings(trial).dimensions <= 256
        assert settings(trial | chooser).dimensions == settings(trial).dimensions


def test_ours_of_table_2_has_the_settings_of_the_bases():
    found = {path.stem: read_trials(path) for path in CONFIGS}
    bases = {trial["dataset"]: settings(trial) for trial in found["bases"]}
    for trial in found["table2-late"]:
        del trial[CHOOSER]
        assert settings(trial) == bases[trial["dataset"]]


@pytest.mark.parametrize(
    ("name", "raised"), [("long", 0.0), ("gain-3", 0.03), ("gain-6", 0.06), ("last", 0.03)]
)
def test_what_was_rehearsed_differs_from_the_bases_in_its_gain_alone(name, raised):
    found = {path.stem: read_trials(path) for path in CONFIGS}
    bases = {trial["dataset"]: settings(trial) for trial in found["bases"]}
    assert len(found[f"table2-{name}"]) == 2
    for trial in found[f"table2-{name}"]:
        base = bases[trial["dataset"]]
        gain = round(base.popularity_gain + raised, 6)
        trial.pop(EVEN, None)
        assert settings(trial) == replace(base, popularity_gain=gain)
