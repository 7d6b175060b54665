"""The notebooks run, and say what their pages say."""

import pytest

from scripts.notebooks import FOLDER, executed

pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("torch")


def printed(notebook):
    """What the cells of a notebook printed."""
    outputs = [each for cell in notebook.cells for each in cell.get("outputs", [])]
    return [each["text"] for each in outputs if each.get("name") == "stdout"]


@pytest.mark.filterwarnings("ignore")  # of the tools that run it
@pytest.mark.parametrize("name", ["own-data", "browser", "sizes"])
def test_a_notebook_runs_and_prints_what_it_shows(name, tmp_path, monkeypatch):
    import nbformat

    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    path = FOLDER / f"{name}.ipynb"
    found = executed(path, tmp_path)
    assert {each.name for each in FOLDER.glob("*.ipynb")} == {
        f"{each}.ipynb" for each in ("own-data", "browser", "sizes")
    }
    shown = nbformat.read(path, as_version=4)
    if name == "own-data":  # trained here, so numbers differ between machines
        assert len(printed(found)) == len(printed(shown))
        assert (tmp_path / "watch.elastic").stat().st_size <= 15_000
        assert (tmp_path / "MODEL" / "stream.elastic").exists()
    else:
        assert printed(found) == printed(shown), "run make notebooks"
