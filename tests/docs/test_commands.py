"""Commands on the pages: each is one that there is, with options that it has."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from elasticrec.cli import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path.relative_to(ROOT)
    for pattern in ("*.md", "docs/*.md", "device/*/*.md", "experiments/*.md", "examples/**/*.md")
    for path in ROOT.glob(pattern)
    if path.name not in ("cli.md", "CHANGELOG.md") and "node_modules" not in path.parts
)


def commands(text):
    """Lines of code blocks that call elasticrec, and calls in sentences that name a file."""
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", text, flags=re.M | re.S)
    blocks = [block for language, block in fences if language in ("", "text")]
    found = [line.strip() for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    found += [
        line for line in re.findall(r"`([^`\n]+)`", text) if re.search(r" \w+ .*\b[A-Z]{2,}", line)
    ]
    return [line for line in found if line.startswith("elasticrec ")]


def wrong(line):
    """What the command line says to the words of a command; None where it takes them."""
    words = shlex.split(re.split(r"\s#|[|>&]", line)[0])[1:]
    if words[0].startswith("-"):
        return None
    if words[0] not in main.COMMANDS:
        return f"no command {words[0]}"
    command = main.load_command(words.pop(0))
    try:
        while members := getattr(command, "commands", None):
            if words[0] not in members:
                return f"no command {words[0]}"
            command = members[words.pop(0)]
        command.make_context("elasticrec", words)
    except typer.Exit:  # of --help and the like
        return None
    except typer.BadParameter.__base__ as error:
        return error.format_message()
    return None


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_commands_and_their_options_exist(page):
    lines = commands((ROOT / page).read_text(encoding="utf-8"))
    assert {line: found for line in lines if (found := wrong(line))} == {}


def test_a_wrong_command_is_noticed():
    assert "--budgett" in wrong("elasticrec fit ratings.csv --budgett 5 -o MODEL")
    assert "fit" in wrong("elasticrec rule fit MODEL")
    assert "Missing option '--output'" in wrong("elasticrec keys new publisher.key")
    assert sum(len(commands((ROOT / page).read_text("utf-8"))) for page in PAGES) > 40
