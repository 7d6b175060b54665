"""The root of the command line: found commands, one-line errors, exit codes, a light start."""

import re
import subprocess
import sys

import pytest
import torch
from typer.testing import CliRunner

import elasticrec
from elasticrec.cli import main
from elasticrec.errors import InputError

KNOWN = ", ".join(main.COMMANDS)
HEAVY = {"torch", "scipy", "polars", "pandas", "matplotlib", "sklearn", "fastapi"}


def run(*arguments):
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=60, check=False
    )


def imported_by(code):
    listed = run("-c", f"import sys\n{code}\nprint(*sys.modules)")
    assert listed.returncode == 0, listed.stderr
    return {name.partition(".")[0] for name in listed.stdout.split()}


@pytest.fixture
def command_raises(monkeypatch):
    """Puts a command `data` in place of the real one that raises what it is given."""

    def put(error):
        def data():
            raise error

        mount = main.typer.Typer()
        mount.command("data")(data)
        command = main.get_group(mount).commands["data"]
        monkeypatch.setattr(main, "COMMANDS", {"data": "data"})
        monkeypatch.setattr(main, "load_command", lambda name: command)
        return CliRunner().invoke(main.app, ["data"])

    return put


def test_import_is_light():
    assert not HEAVY & imported_by("import elasticrec")


def test_help_and_every_command_import_nothing_heavy():
    code = "from elasticrec.cli.main import *\nfor name in COMMANDS: load_command(name)"
    assert not HEAVY & imported_by(code)


def test_every_command_says_what_it_does_in_the_root_help():
    shown = CliRunner().invoke(main.app, ["--help"], terminal_width=400)
    assert shown.exit_code == 0
    for name in main.COMMANDS:
        about = main.load_command(name).get_short_help_str(limit=300)
        assert about.endswith(".")
        assert about in shown.stdout


def test_the_list_of_commands_cuts_no_sentence_short():
    shown = CliRunner().invoke(main.app, ["--help"], terminal_width=92).stdout
    assert "..." not in shown.partition("Commands:")[2]


def leaves():
    """The words and the function of every command, groups left out."""
    for name in main.COMMANDS:
        command = main.load_command(name)
        members = getattr(command, "commands", None)
        yield from [((name, n), c) for n, c in members.items()] if members else [((name,), command)]


def test_the_help_of_every_command_ends_in_an_example():
    for words, command in leaves():
        *_, last = command.help.strip().split("\n\n")
        start, *examples = last.replace("\b\n", "").split("\n")
        assert start == "Example:"
        assert examples[0].startswith(" ".join(["  elasticrec", *words]))
        shown = CliRunner().invoke(main.app, [*words, "--help"], terminal_width=100).stdout
        assert all(example in shown for example in examples)


SCRIPT = "from elasticrec.cli.main import run; run()"  # what the installed command does


@pytest.mark.parametrize("start", [["-m", "elasticrec"], ["-c", SCRIPT]])
def test_version(start):
    shown = run(*start, "--version")
    assert (shown.returncode, shown.stdout) == (0, f"elasticrec {elasticrec.__version__}\n")


def test_bad_input_is_one_line_and_exit_code_2(command_raises):
    result = command_raises(InputError("books.csv, line 3:\n  expected a number"))
    assert result.exit_code == 2
    assert result.stderr == "error: books.csv, line 3: expected a number\n"
    assert result.stdout == ""


def test_a_missing_file_is_one_line_and_exit_code_2(command_raises):
    result = command_raises(FileNotFoundError(2, "No such file or directory", "books.csv"))
    assert result.exit_code == 2
    assert result.stderr == "error: books.csv: No such file or directory\n"


@pytest.mark.parametrize(
    ("library", "installed"),
    [
        ("polars", "elasticrec[train]"),
        ("elasticrec_device", "elasticrec-device"),
        ("rich.table", "elasticrec"),
    ],
)
def test_a_missing_library_says_how_to_install_it(command_raises, library, installed):
    result = command_raises(ModuleNotFoundError(f"No module named '{library}'", name=library))
    assert result.exit_code == 2
    assert result.stderr.endswith(f"pip install '{installed}'\n")
    assert result.stderr.count("\n") == 1


def test_a_defect_keeps_its_traceback(command_raises):
    assert isinstance(command_raises(ZeroDivisionError()).exception, ZeroDivisionError)
    unknown = ModuleNotFoundError("No module named 'elasticrec.nothing'", name="elasticrec.nothing")
    assert command_raises(unknown).exception is unknown


def test_too_little_memory_is_one_line(command_raises):
    with pytest.raises(RuntimeError) as raised:
        torch.empty(2**60)
    result = command_raises(raised.value)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: there is too little memory for this; smaller settings")
    assert result.stderr.count("\n") == 1


def test_interrupt_is_exit_code_130(command_raises):
    assert command_raises(KeyboardInterrupt()).exit_code == 130


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["tarin"], f"elasticrec: there is no command 'tarin'; the commands are {KNOWN}"),
        (["data", "tarin"], "elasticrec data: No such command 'tarin'"),
        (["--colour"], "elasticrec: No such option: --colour"),
        (["fit", "--colour"], "elasticrec fit: No such option: --colour"),
        (["fit"], "elasticrec fit: Missing argument 'source'"),
        (["recommend", "MODEL", "-k", "many"], "elasticrec recommend: Invalid value for '-k'"),
        (["tune", "goodbooks", "--trials", "1"], "elasticrec tune: Invalid value for '--trials'"),
    ],
)
def test_words_that_make_no_command_are_one_line(words, line):
    result = CliRunner().invoke(main.app, words, prog_name="elasticrec")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {line}")
    assert re.search(r" \(`elasticrec.* -h` lists the options\)\n$", result.stderr)
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("words", [[], ["data"], ["rule"]])
def test_a_group_without_a_command_shows_its_help(words):
    result = CliRunner().invoke(main.app, words)
    assert result.exit_code == 2
    assert "Commands:" in result.stderr
