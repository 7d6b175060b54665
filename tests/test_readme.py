"""The README's examples, run as they are printed on a small slice of goodbooks."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from elasticrec.cli.main import app
from elasticrec.data.ids import Ids
from elasticrec.data.interactions import Interactions, Pairs
from elasticrec.data.readers.lists import read_goodbooks

pytest.importorskip("torch")

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


@pytest.fixture
def books_csv(small_goodbooks, tmp_path, monkeypatch):
    """The same as a table in the working folder, which is empty otherwise."""
    monkeypatch.chdir(tmp_path)
    users = small_goodbooks.user_ids.values[small_goodbooks.pairs.users]
    books = small_goodbooks.item_ids.values[small_goodbooks.pairs.items]
    rows = [f"{user},{book}" for user, book in zip(users, books, strict=True)]
    Path("books.csv").write_text("\n".join(["user_id,book_id", *rows]) + "\n")


def test_python_examples(small_goodbooks, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code = example("python", "ElasticRecommender")
    assert code.count('"goodbooks"') == 1
    exec(code.replace('"goodbooks"', "small_goodbooks"), {"small_goodbooks": small_goodbooks})
    titles = zip(small_goodbooks.item_ids.values, small_goodbooks.titles, strict=True)
    listed = capsys.readouterr().out.strip().splitlines()
    assert len(listed) == 5
    assert set(listed) <= {f"{book} {title}" for book, title in titles}
    assert Path("MODEL/model.json").exists()
    exec(example("python", "elasticrec_device"), {})  # takes the file that the first one wrote
    assert len(capsys.readouterr().out.splitlines()) == 5


def test_command_line_example(books_csv):
    """`goodbooks` is replaced by the table; every other word is the README's."""
    shown = {}
    for line in example("", "elasticrec fit").splitlines():
        command = line.partition("  #")[0].strip()
        if not command.startswith("elasticrec "):
            subprocess.run(command, shell=True, check=True)
            continue
        words = command.replace("fit goodbooks", "fit books.csv").split()[1:]
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, (command, result.output, result.exception)
        shown[words[0]] = result.stdout
    assert {"fit", "recommend", "evaluate", "customize", "inspect", "curve"} <= set(shown)
    books = {line.split(",")[1] for line in Path("books.csv").read_text().splitlines()[1:]}
    listed = [line.split()[1] for line in shown["recommend"].splitlines()[1:]]
    assert len(listed) == 5
    assert set(listed) <= books - {"13", "55", "126"}
    assert Path("curve.png").exists()
