"""Wrong input to an experiment ends in one line that says what was expected."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from experiments import ablation, codings, grid, methods, table2
from experiments.tasks import OURS


@pytest.mark.parametrize(
    ("app", "arguments", "expected"),
    [
        (table2.app, ["--methods", "ours,nothing"], "no method is called nothing; expected some"),
        (table2.app, ["--dataset", "moon"], "holds no moon.npz; expected what `elasticrec data"),
        (ablation.app, ["--dataset", "moon"], "holds no moon.npz"),
        (
            ablation.app,
            ["--starts", "theirs"],
            "no start is called 'theirs'; expected some of rule",
        ),
        (
            ablation.app,
            ["--variants", "none"],
            "no variant among 'none'; expected some of as it is",
        ),
        (grid.app, ["--dataset", "moon"], "holds no moon.npz"),
    ],
)
def test_wrong_names_are_refused(app, arguments, expected, tmp_path):
    answer = CliRunner().invoke(app, ["run", "--data", str(tmp_path), *arguments])
    assert answer.exit_code == 2
    assert expected in answer.stderr
    assert len(answer.stderr.splitlines()) == 1


def test_a_command_that_is_alone_keeps_its_name_and_the_module_tells_what_it_is_for():
    told = CliRunner().invoke(codings.app, ["--help"])
    assert told.exit_code == 0
    assert "Ways to code items beside each other" in told.stdout
    assert "draw" in told.stdout
    shown = CliRunner().invoke(codings.app, ["draw"])
    assert shown.exit_code == 0
    assert shown.stdout.startswith("| commit | data set |")


def test_rivals_are_all_methods_but_ours():
    known = methods.all_methods()
    assert methods.named_methods("") == known
    assert methods.named_methods("pmf,ours") == ("pmf", OURS)
    assert set(methods.named_methods("rivals")) == set(known) - {OURS}
    assert sorted(methods.named_methods("rivals,ours,pmf")) == sorted(known)
