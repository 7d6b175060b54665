"""Commands as a terminal runs them."""

import json

from typer.testing import CliRunner

from elasticrec.cli.main import app


def run(*words):
    """What a command that succeeds prints on stdout."""
    result = CliRunner().invoke(app, [str(word) for word in words], terminal_width=100)
    assert result.exit_code == 0, result.output or result.exception
    return result.stdout


def run_json(*words):
    """What a command prints with `--json`."""
    return json.loads(run(*words, "--json"))


def refused(*words, after=()):
    """The line on stderr of a command that ends with exit code 2 and prints nothing else.

    Args:
        after: stages that a long command reports before.
    """
    result = CliRunner().invoke(app, [str(word) for word in words], terminal_width=100)
    assert result.exit_code == 2, result.output or result.exception
    assert result.stdout == ""
    *before, line = result.stderr.splitlines()
    assert [text.partition(":")[0] for text in before] == list(after), result.stderr
    assert line.startswith("error: ")
    return line
