"""Result lines: what is filled in, which line wins, what is refused."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from experiments import lines, provenance

GOOD = {
    "dataset": "gowalla",
    "split": "published",
    "method": "mf",
    "seed": 0,
    "metrics": {"recall@20": 0.5},
    "seconds": 1.5,
    "config": {"dimensions": 64},
}


def read():
    return lines.read("bases")


@pytest.fixture(autouse=True)
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "RESULTS", tmp_path)
    return tmp_path


def test_a_line_has_the_standard_fields_in_order_and_then_its_own(results, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["pytest", "--seeds", "3"])
    written = lines.append("bases", {**GOOD, "epochs": 7})
    stored = json.loads((results / "bases.jsonl").read_text())
    assert stored == written
    assert tuple(stored) == (*lines.FIELDS, "epochs")
    assert stored["experiment"] == "bases"
    assert stored["budget_mb"] is None
    assert stored["command"] == "pytest --seeds 3"


def test_the_newest_line_of_a_key_wins_and_other_keys_stay():
    lines.append("bases", GOOD)
    lines.append("bases", {**GOOD, "seed": 1})
    lines.append("bases", {**GOOD, "metrics": {"recall@20": 0.75}})
    lines.append("bases", {**GOOD, "config": {"dimensions": 128}})
    found = [(r["seed"], r["config"]["dimensions"], r["metrics"]["recall@20"]) for r in read()]
    assert found == [(1, 64, 0.5), (0, 64, 0.75), (0, 128, 0.5)]


def test_superseded_lines_are_set_aside_and_nothing_is_lost(results):
    known = {"dataset": "gowalla", "split": "published", "method": "ours", "config": {}}
    for seed, seconds in ((0, 1.0), (1, 2.0), (0, 3.0)):
        lines.append("a", {**known, "seed": seed, "seconds": seconds, "metrics": {"recall@50": 1}})
    before, whole = lines.read("a"), (results / "a.jsonl").read_text()
    assert lines.set_aside(results, "a") == 1
    assert lines.read("a") == before
    (old,) = lines.read(f"a{lines.SUPERSEDED}")
    assert (old["seed"], old["seconds"]) == (0, 1.0)
    both = [(results / f"a{name}.jsonl").read_text() for name in ("", lines.SUPERSEDED)]
    assert sorted("".join(both).splitlines()) == sorted(whole.splitlines())
    assert lines.set_aside(results, "a") == lines.set_aside(results, "nothing") == 0


def test_no_file_means_no_lines():
    assert lines.read("never-run") == []


def test_the_hash_of_a_config_ignores_order_and_form_but_not_values():
    @dataclass(frozen=True)
    class Config:
        rate: float = 0.5
        sizes: tuple[int, ...] = (1, 2)

    assert lines.config_hash(Config()) == lines.config_hash({"sizes": [1, 2], "rate": 0.5})
    assert lines.config_hash(Config()) != lines.config_hash(Config(rate=0.25))


def test_numpy_values_are_stored_as_numbers():
    written = lines.append("bases", {**GOOD, "metrics": {"recall@20": np.float32(0.25)}})
    assert read() == [written]
    assert written["metrics"] == {"recall@20": 0.25}


def test_a_number_that_is_not_finite_is_refused(results):
    with pytest.raises(ValueError, match="JSON compliant"):
        lines.append("bases", {**GOOD, "metrics": {"recall@20": float("nan")}})
    assert read() == []


@pytest.mark.parametrize(
    ("field", "value"), [("dataset", "movielens"), ("split", "80-20"), ("method", "MF")]
)
def test_words_outside_the_vocabulary_are_refused(field, value):
    with pytest.raises(ValueError, match=f"{field} is one of .* got '{value}'"):
        lines.append("bases", {**GOOD, field: value})


@pytest.mark.parametrize("field", ["seed", "metrics", "seconds", "config"])
def test_a_line_without_its_measurement_is_refused(field):
    with pytest.raises(ValueError, match=f"needs '{field}'"):
        lines.append("bases", {name: v for name, v in GOOD.items() if name != field})


def test_an_experiment_cannot_leave_its_folder():
    with pytest.raises(ValueError, match="lower case with hyphens"):
        lines.append("../bases", GOOD)


def test_a_torn_last_line_is_dropped_and_written_over(results):
    lines.append("bases", GOOD)
    path = results / "bases.jsonl"
    path.write_bytes(path.read_bytes() + b'{"experiment": "ba')
    assert len(read()) == 1
    lines.append("bases", {**GOOD, "seed": 1})
    assert [line["seed"] for line in read()] == [0, 1]


def test_a_broken_line_is_named(results):
    (results / "bases.jsonl").write_text('{"seed": 0}\nnot json\n')
    with pytest.raises(ValueError, match=r"bases.jsonl, line 2: expected a JSON object"):
        read()


def test_environment_names_commit_and_machine(monkeypatch):
    monkeypatch.setenv("ELASTICREC_COMMIT", "abc123")
    monkeypatch.setenv("ELASTICREC_MACHINE", "a watch")
    provenance.commit.cache_clear()
    written = lines.append("bases", GOOD)
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
        (provenance.ROOT / "experiments/bases.py", "python -m experiments.bases run --data .../x"),
        (Path("/venv/lib/elasticrec/__main__.py"), "python -m elasticrec run --data .../x"),
        (Path("/venv/bin/elasticrec"), "elasticrec run --data .../x"),
    ],
)
def test_the_command_can_be_typed_again(program, expected, monkeypatch):
    monkeypatch.setattr("sys.argv", [str(program), "run", "--data", "/somewhere/x"])
    assert provenance.command() == expected


def test_lines_of_several_processes_do_not_mix(results):
    code = (
        "import sys; from pathlib import Path; from experiments.lines import append_to\n"
        "for i in range(20): append_to(Path(sys.argv[1]), 'crowd', {'seed': int(sys.argv[2]) + i})"
    )
    workers = [
        subprocess.Popen([sys.executable, "-c", code, str(results), str(20 * w)], cwd=lines.ROOT)
        for w in range(3)
    ]
    assert [worker.wait() for worker in workers] == [0, 0, 0]
    assert sorted(line["seed"] for line in lines.read("crowd")) == list(range(60))
