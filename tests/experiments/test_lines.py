"""Result lines: what is filled in, which line wins, what is refused."""

import copy
import json
import subprocess
import sys
from dataclasses import dataclass, fields, is_dataclass
from functools import reduce
from pathlib import Path

import numpy as np
import pytest

from elasticrec.presets import PRESETS
from experiments import lines, provenance

GOOD = {
    "dataset": "gowalla",
    "method": "ours",
    "bytes_per_item": 11,
    "seed": 0,
    "metrics": {"recall@20": 0.5},
    "seconds": 1.5,
    "config": {"dimensions": 64},
    "code_hash": "abc",
}


def read():
    return lines.read("trial")


@pytest.fixture(autouse=True)
def _apart(results):
    """Result lines are kept apart."""


def test_a_line_has_its_known_fields_in_order_and_its_config_beside(results, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["pytest", "--seeds", "3"])
    written = lines.append("trial", {**GOOD, "epochs": 7})
    stored = json.loads((results / "trial.jsonl").read_text())
    assert written == stored | {"config": {"dimensions": 64}}
    assert list(stored) == [*(name for name in lines.FIELDS if name in stored), "epochs"]
    assert stored["command"] == "pytest --seeds 3"
    config = json.loads((results / "configs.jsonl").read_text())
    assert config == {"config_hash": stored["config_hash"], "config": {"dimensions": 64}}


def test_a_config_is_stored_once(results):
    for seed in range(3):
        lines.append("trial", {**GOOD, "seed": seed})
    assert len((results / "configs.jsonl").read_text().splitlines()) == 1
    assert [line["config"] for line in read()] == [{"dimensions": 64}] * 3


def test_code_and_format_tell_measurements_apart_and_the_latest_of_a_cell_is_drawn():
    lines.append("trial", GOOD)
    lines.append("trial", {**GOOD, "seed": 1})
    lines.append("trial", {**GOOD, "code_hash": "def", "metrics": {"recall@20": 0.6}})
    lines.append("trial", {**GOOD, "bytes_per_item": 20})
    assert len(read()) == 4
    found = [(x["bytes_per_item"], x["seed"], x["code_hash"]) for x in lines.latest("trial")]
    assert found == [(11, 0, "def"), (20, 0, "abc")]


def test_the_newest_line_of_a_key_wins_and_other_keys_stay():
    lines.append("trial", GOOD)
    lines.append("trial", {**GOOD, "seed": 1})
    lines.append("trial", {**GOOD, "metrics": {"recall@20": 0.75}})
    lines.append("trial", {**GOOD, "config": {"dimensions": 128}})
    found = [(r["seed"], r["config"]["dimensions"], r["metrics"]["recall@20"]) for r in read()]
    assert found == [(1, 64, 0.5), (0, 64, 0.75), (0, 128, 0.5)]


def test_no_file_means_no_lines():
    assert lines.read("never-run") == []


def test_the_hash_of_a_config_ignores_order_and_form_but_not_values():
    @dataclass(frozen=True)
    class Config:
        rate: float = 0.5
        sizes: tuple[int, ...] = (1, 2)

    assert lines.config_hash(Config()) == lines.config_hash({"sizes": [1, 2], "rate": 0.5})
    assert lines.config_hash(Config()) != lines.config_hash(Config(rate=0.25))


def leaves(config, path=()):
    """The way to every field of a config that is no config itself."""
    for field in fields(config):
        value, way = getattr(config, field.name), (*path, field.name)
        yield from leaves(value, way) if is_dataclass(value) else [way]


@pytest.mark.parametrize("way", list(leaves(PRESETS["default"])), ids=".".join)
def test_every_setting_of_a_preset_changes_the_key(way):
    preset = copy.deepcopy(PRESETS["default"])
    config = reduce(getattr, way[:-1], preset)
    object.__setattr__(config, way[-1], "another")
    changed, known = (lines.config_hash(x.as_dict()) for x in (preset, PRESETS["default"]))
    assert changed != known
    assert "config_hash" in lines.KEY


def test_numpy_values_are_stored_as_numbers():
    written = lines.append("trial", {**GOOD, "metrics": {"recall@20": np.float32(0.25)}})
    assert read() == [written]
    assert written["metrics"] == {"recall@20": 0.25}


def test_a_number_that_is_not_finite_is_refused(results):
    with pytest.raises(ValueError, match="JSON compliant"):
        lines.append("trial", {**GOOD, "metrics": {"recall@20": float("nan")}})
    assert read() == []


def test_an_experiment_cannot_leave_its_folder():
    with pytest.raises(ValueError, match="lower case with hyphens"):
        lines.append("../bases", GOOD)


def test_a_torn_last_line_is_dropped_and_written_over(results):
    lines.append("trial", GOOD)
    path = results / "trial.jsonl"
    path.write_bytes(path.read_bytes() + b'{"experiment": "ba')
    assert len(read()) == 1
    lines.append("trial", {**GOOD, "seed": 1})
    assert [line["seed"] for line in read()] == [0, 1]


def test_a_broken_line_is_named(results):
    results.mkdir()
    (results / "trial.jsonl").write_text('{"seed": 0}\nnot json\n')
    with pytest.raises(ValueError, match=r"trial.jsonl, line 2: expected a JSON object"):
        read()


def test_environment_names_commit_and_machine(monkeypatch):
    monkeypatch.setenv("ELASTICREC_COMMIT", "abc123")
    monkeypatch.setenv("ELASTICREC_MACHINE", "a watch")
    provenance.commit.cache_clear()
    written = lines.append("trial", GOOD)
    provenance.commit.cache_clear()
    assert (written["commit"], written["machine"]) == ("abc123", "a watch")


def test_without_git_the_commit_is_unknown(monkeypatch):
    monkeypatch.delenv("ELASTICREC_COMMIT", raising=False)
    monkeypatch.setenv("PATH", "")
    provenance.commit.cache_clear()
    assert provenance.commit() == "unknown"
    provenance.commit.cache_clear()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (str(provenance.ROOT / "experiments/configs/a.toml"), "experiments/configs/a.toml"),
        ("/somewhere/else/gowalla", ".../gowalla"),
        ("--data=/somewhere/else/gowalla", "--data=.../gowalla"),
        ("plain", "plain"),
        ("rate=0.5", "rate=0.5"),
    ],
)
def test_paths_of_this_machine_are_left_out(text, expected):
    assert provenance.without_machine_paths(text) == expected


def test_paths_in_a_config_do_not_change_its_hash():
    here, there = Path("/here/data/gowalla"), Path("/there/gowalla")
    assert lines.config_hash({"data": here}) == lines.config_hash({"data": there})


def test_the_cpu_is_counted_and_named(monkeypatch):
    monkeypatch.delenv("ELASTICREC_MACHINE", raising=False)
    monkeypatch.delitem(provenance.sys.modules, "torch", raising=False)
    count, _, model = provenance.machine().partition(" × ")
    assert int(count) >= 1
    assert model == provenance.cpu_model() != ""


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (
            provenance.ROOT / "experiments/orders.py",
            "python -m experiments.orders run --data .../x",
        ),
        (Path("/venv/lib/elasticrec/__main__.py"), "python -m elasticrec run --data .../x"),
        (Path("/venv/bin/elasticrec"), "elasticrec run --data .../x"),
    ],
)
def test_the_command_can_be_typed_again(program, expected, monkeypatch):
    monkeypatch.setattr("sys.argv", [str(program), "run", "--data", "/somewhere/x"])
    assert provenance.command() == expected


def test_lines_of_several_processes_do_not_mix(results):
    code = (
        "import sys; from pathlib import Path; from experiments.lines import append\n"
        "for i in range(20): append('crowd', {'seed': int(sys.argv[2]) + i}, Path(sys.argv[1]))"
    )
    workers = [
        subprocess.Popen([sys.executable, "-c", code, str(results), str(20 * w)], cwd=lines.ROOT)
        for w in range(3)
    ]
    assert [worker.wait() for worker in workers] == [0, 0, 0]
    assert sorted(line["seed"] for line in lines.read("crowd")) == list(range(60))
