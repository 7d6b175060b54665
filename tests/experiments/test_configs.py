"""Every recipe in `experiments/configs` can be read, and names only settings that exist."""

from pathlib import Path

import pytest

from experiments import lines
from experiments.bases import read_trials, settings
from experiments.tasks import CHOOSER

CONFIGS = sorted((Path(lines.__file__).parent / "configs").glob("*.toml"))


def test_there_are_recipes():
    assert CONFIGS


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_recipes_parse(path):
    for trial in read_trials(path):
        assert trial["dataset"] in lines.DATASETS
        chooser = trial.pop(CHOOSER, {})
        assert settings(trial).dimensions <= 256
        assert settings(trial | chooser).dimensions == settings(trial).dimensions


def test_ours_of_table_2_has_the_settings_of_the_bases():
    found = {path.stem: read_trials(path) for path in CONFIGS}
    bases = {trial["dataset"]: settings(trial) for trial in found["bases"]}
    for trial in found["table2-late"]:
        del trial[CHOOSER]
        assert settings(trial) == bases[trial["dataset"]]
