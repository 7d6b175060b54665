"""Bad options of `elasticrec demo` are refused in one line, before anything takes long."""

import pytest
from typer.testing import CliRunner

from elasticrec.cli.main import app


@pytest.fixture
def source(planted, tmp_path_factory):
    path = tmp_path_factory.mktemp("source") / "planted.npz"
    planted.save(path)
    return path


def run(source, folder, *arguments):
    return CliRunner().invoke(app, ["demo", str(source), "-o", str(folder), *arguments])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--budget", "lots"), "'lots' is no budget"),
        (("--budget", "1KB"), "the smallest possible is"),
        (("--reader", "nobody"), "unknown user 'nobody'; expected one such as 0, 1, 2"),
        (("-k", "0"), "lists of 0 items, expected 1 or more"),
        (("--seed", "-1"), "seed is -1, expected 0 or more"),
        (("--preset", "tinny"), "no preset 'tinny'; expected one of default, demo"),
    ],
)
def test_bad_options_are_refused_before_anything_is_trained(source, tmp_path, arguments, message):
    done = run(source, tmp_path / "out", *arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "out" / "model").exists()


def test_a_folder_that_holds_other_things_is_refused_and_left_alone(source, tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    done = run(source, tmp_path, "--fresh")
    assert done.exit_code == 2
    assert "holds other things; expected a new or empty folder" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    done = run(source, tmp_path / "thesis.tex")
    assert done.exit_code == 2
    assert "is a file, expected a folder" in done.stderr


def test_a_source_that_is_no_split_is_refused(tmp_path):
    (tmp_path / "books.csv").write_text("user,item\n1,2\n")
    done = run(tmp_path / "books.csv", tmp_path / "out")
    assert done.exit_code == 2
    assert "expected a split written by `elasticrec data prepare`" in done.stderr
