"""Packages the model that `elasticrec serve --demo` serves.

    elasticrec fit goodbooks -o MODEL
    python scripts/demo_model.py MODEL

The packaged folder holds what clients get (stream, catalogue, curve) and no person.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from functools import partial
from pathlib import Path

from elasticrec.files import demo_folder
from elasticrec.model import Model

PARTS = ("stream", "catalogue", "curve")


def package(model: Model, folder: Path) -> int:
    """The bytes of a new folder with the parts of a model that clients get."""
    shutil.rmtree(folder, ignore_errors=True)
    small = Model.create(folder)
    for part in PARTS:
        content = model.check(part).read_bytes()
        small.save_part(part, partial(_write, content))
    small.describe(**{key: model.about[key] for key in ("trained", "name") if key in model.about})
    return sum(path.stat().st_size for path in folder.iterdir())


def _write(content: bytes, path: Path) -> None:
    path.write_bytes(content)


def main() -> int:
    """0, after the folder was written."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="a model that `elasticrec fit goodbooks` made")
    place = demo_folder() / "models" / "goodbooks"
    n_bytes = package(Model.open(parser.parse_args().model), place)
    print(f"{place.name}: {n_bytes:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
