"""Commands on the pages: each is one that there is, with options that it has."""

import re
import shlex
from pathlib import Path

import pytest

from elasticrec.cli import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path.relative_to(ROOT)
    for pattern in ("*.md", "docs/*.md", "device/*/*.md", "experiments/*.md", "examples/**/*.md")
    for path in ROOT.glob(pattern)
    if path.name not in ("cli.md", "CHANGELOG.md") and "node_modules" not in path.parts
)


def commands(text):
    """Lines of code blocks that call elasticrec, without comments."""
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", text, flags=re.M | re.S)
    blocks = [block for language, block in fences if language in ("", "text")]
    found = [line.strip() for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [line for line in found if line.startswith("elasticrec ")]


def wrong(line):
    """Words of a command that it does not know."""
    words = shlex.split(re.split(r"\s#|[|>&]", line)[0])[1:]
    if words[0].startswith("-"):
        return []
    if words[0] not in main.COMMANDS:
        return words[:1]
    command = main.load_command(words.pop(0))
    while members := getattr(command, "commands", None):
        if words[0] not in members:
            return words[:1]
        command = members[words.pop(0)]
    known = {"-h", "--help"}
    known |= {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
    options = [word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)]
    return [each for each in options if each not in known]


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_commands_and_their_options_exist(page):
    lines = commands((ROOT / page).read_text(encoding="utf-8"))
    assert {line: found for line in lines if (found := wrong(line))} == {}


def test_a_wrong_command_is_noticed():
    assert wrong("elasticrec fit ratings.csv --budgett 5 -o MODEL") == ["--budgett"]
    assert wrong("elasticrec rule fit MODEL") == ["fit"]
    assert sum(len(commands((ROOT / page).read_text("utf-8"))) for page in PAGES) > 40
