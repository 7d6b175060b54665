"""Executes the notebooks in examples/notebooks, each in an empty folder.

    python -m scripts.notebooks

Needs `pip install 'elasticrec[demo,dev]'`. What a run changes by chance (times, counters) is left
out, so that equal outputs give equal files.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbformat import NotebookNode

FOLDER = Path(__file__).resolve().parent.parent / "examples" / "notebooks"
SECONDS = 300


def executed(path: Path, folder: Path | str) -> NotebookNode:
    """The notebook with the outputs of a run in that folder; an error in a cell is raised."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    about = {"metadata": {"path": str(folder)}}
    NotebookClient(
        notebook, timeout=SECONDS, resources=about, record_timing=False, coalesce_streams=True
    ).execute()
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}
    }
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        if cell.cell_type == "code":
            cell.execution_count = None
            for output in cell.outputs:
                output.pop("execution_count", None)
                if output.output_type == "execute_result":
                    output.execution_count = None
    return notebook


def main() -> int:
    """0 when all notebooks were executed and written."""
    import nbformat

    for path in sorted(FOLDER.glob("*.ipynb")):
        with tempfile.TemporaryDirectory() as folder:
            notebook = executed(path, folder)
        nbformat.write(notebook, path)
        print(f"{path.name} written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
