"""One command for all experiments: its list can be run, failures are named, time is kept."""

from __future__ import annotations

from importlib import import_module

import pytest
from typer.main import get_command

from elasticrec.errors import InputError
from experiments import everything, rehearsal
from experiments.everything import Command, read_commands, run_commands

LISTS = {everything.CONFIG: {"table2", "ablation", "grid"}}
LISTS[everything.CONFIG.with_name("values.toml")] = {"table2"}


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.stem)
def test_every_listed_command_has_the_options_that_it_names(tmp_path, path):
    commands = read_commands(path)
    assert LISTS[path] <= {command.words[0] for command in commands}
    for command in commands:
        _, _, module, name, *rest = command.filled(tmp_path).arguments(True, 60.0)
        asked = get_command(import_module(module).app).commands[name].make_context(name, rest)
        rehearsed = str(asked.params.get("experiment")).startswith(rehearsal.EXPERIMENT)
        assert asked.params["data"] == (tmp_path / "rehearsal" if rehearsed else tmp_path)
        assert asked.params["gpu"]
        assert (asked.params["jobs"], asked.params["minutes"]) == (command.jobs, 1.0)


def test_commands_run_side_by_side_and_failures_are_named(tmp_path, capsys):
    smoke, wrong = Command(("grid", "run", "--smoke"), 9), Command(("grid", "nonsense"), 1)
    assert run_commands([smoke, wrong], tmp_path / "logs", jobs=2) == [wrong]
    logs = {path.name: path.read_text() for path in (tmp_path / "logs").iterdir()}
    assert "| goodbooks" in logs["01-grid.log"]
    assert logs["02-grid.log"].splitlines()[0].endswith("-m experiments.grid nonsense --jobs 1")
    told = capsys.readouterr().out
    assert "ended: grid run --smoke" in told
    assert "FAILED: grid nonsense" in told
    assert "'nonsense'" in told.split("FAILED: grid nonsense\n")[1].splitlines()[0]


def test_when_time_is_over_nothing_more_begins(tmp_path, capsys):
    commands = [Command(("grid", "run"), 1), Command(("grid", "run"), 1)]
    assert run_commands(commands, tmp_path / "logs", seconds=-1.0) == []
    assert "2 commands were not begun" in capsys.readouterr().out


def test_what_outlasts_its_time_is_ended(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(everything, "GRACE", 0.1)
    run_commands([Command(("grid", "run", "--smoke"), 1)], tmp_path / "logs", seconds=0.3)
    assert "ended before it was done: grid run --smoke" in capsys.readouterr().out


def test_a_list_without_commands_is_refused(tmp_path):
    (tmp_path / "list.toml").write_text('[[command]]\nrun = "grid run"\n')
    with pytest.raises(InputError, match="`run` and `jobs`"):
        read_commands(tmp_path / "list.toml")
