import pytest
from typer.testing import CliRunner

from elasticrec.cli.main import app

PNG = b"\x89PNG\r\n\x1a\n"


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture
def composition(searchable, tmp_path):
    path = tmp_path / "composition.json"
    assert run("search", searchable.root, "--budget", "12KB", "-o", path).exit_code == 0
    return path


def test_a_models_groups_blocks_and_bytes(searchable, tmp_path):
    done = run("inspect", searchable.root, "--scatter", tmp_path / "groups.png")
    assert done.exit_code == 0, done.output
    assert "200 items; mf, aligned score, 4 blocks of 8" in " ".join(done.output.split())
    assert "blocks by energy: 0 " in done.output
    assert "popularity groups" in done.output
    assert "full: 25,728 bytes" in done.output
    assert (tmp_path / "groups.png").read_bytes().startswith(PNG)


def test_a_composition_as_a_heat_map(searchable, composition, tmp_path):
    done = run("inspect", composition, "--heat-map", tmp_path / "kept.png")
    assert done.exit_code == 0, done.output
    assert "11.648 KB of a budget of 12 KB" in done.output
    assert "█" in done.output
    assert (tmp_path / "kept.png").read_bytes().startswith(PNG)
    with_model = run(
        "inspect", composition, "--model", searchable.root, "--scatter", tmp_path / "items.png"
    )
    assert with_model.exit_code == 0, with_model.output
    assert (tmp_path / "items.png").read_bytes().startswith(PNG)


def test_what_cannot_be_drawn_is_refused(searchable, composition, tmp_path):
    for arguments, message in (
        ((searchable.root, "--heat-map", tmp_path / "x.png"), "--heat-map draws a composition"),
        ((composition, "--scatter", tmp_path / "x.png"), "needs its --model"),
        ((tmp_path / "nothing.json",), "nothing.json"),
        ((composition, "--model", tmp_path), "is not a model folder"),
    ):
        done = run("inspect", *arguments)
        assert done.exit_code == 2
        assert message in done.output


def test_a_composition_of_another_model_is_refused(searchable, composition):
    searchable.record("groups", "0" * 64, ("split", "table"))
    done = run("inspect", composition, "--model", searchable.root)
    assert done.exit_code == 2
    assert "made for model" in done.output
