"""The README's examples, run as they are printed on a small slice of goodbooks."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from elasticrec.cli.main import app
from elasticrec.data.readers.embedded import read_goodbooks
from elasticrec.data.interactions import Ids, Interactions, Pairs

README = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")


def example(language, containing):
    """The one fenced block of that language that contains a text."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", README, flags=re.DOTALL | re.MULTILINE)
    (found,) = [text for kind, text in blocks if kind == language and containing in text]
    return found


@pytest.fixture(scope="module")
def small_goodbooks():
    """The first 300 who chose at least 12 of the 150 most wanted books, numbered from 0."""
    whole = read_goodbooks()
    popular = whole.pairs.items < 150
    users, items = whole.pairs.users[popular], whole.pairs.items[popular]
    chosen = np.flatnonzero(np.bincount(users, minlength=whole.pairs.n_users) >= 12)[:300]
    mine = np.isin(users, chosen)
    pairs = Pairs.from_arrays(
        np.searchsorted(chosen, users[mine]), items[mine], n_users=300, n_items=150
    )
    ids, titles = whole.item_ids.take(np.arange(150)), whole.titles[:150]
    return Interactions(pairs, Ids.dense(300), ids, titles=titles, name="goodbooks")


def test_python_example(small_goodbooks, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code = example("python", "ElasticRecommender")
    assert code.count('"goodbooks"') == 1
    exec(code.replace('"goodbooks"', "small_goodbooks"), {"small_goodbooks": small_goodbooks})
    evaluation, *books = capsys.readouterr().out.strip().split("\n")[-11:]
    assert "recall@20" in evaluation
    known = {f"{i} {title}" for i, title in titles(small_goodbooks).items()}
    assert len(books) == 10
    assert set(books) <= known
    assert (tmp_path / "MODEL").is_dir()


def test_command_line_example(small_goodbooks, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    users = small_goodbooks.user_ids.values[small_goodbooks.pairs.users]
    books = small_goodbooks.item_ids.values[small_goodbooks.pairs.items]
    rows = [f"{user},{book}" for user, book in zip(users, books, strict=True)]
    Path("books.csv").write_text("\n".join(["user_id,book_id", *rows]) + "\n")
    lines = example("", "elasticrec train").splitlines()
    commands = [shlex.split(line)[1:] for line in lines if line.startswith("elasticrec ")]
    shown = []
    for command in commands:
        result = CliRunner().invoke(app, command)
        assert result.exit_code == 0, (command, result.output)
        shown.append(result.stdout)
    assert [command[0] for command in commands][:3] == ["data", "train", "evaluate"]
    for listed in shown[-2:]:
        found = set(map(int, re.findall(r"\d+", listed)))
        assert len(found & set(titles(small_goodbooks))) >= 5


def titles(interactions):
    return dict(zip(interactions.item_ids.values.tolist(), interactions.titles, strict=True))
