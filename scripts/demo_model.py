"""Makes the model that `elasticrec serve --demo` serves, from the embedded goodbooks sample.

    python scripts/demo_model.py                    # trains in minutes, then writes the archive
    python scripts/demo_model.py --model MODEL      # keeps or takes up the trained model there

Nothing but dates differs from one run to the next on the same machine.
"""

from __future__ import annotations

import argparse
import lzma
import sys
import tarfile
import tempfile
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elasticrec.blocks.folder import FILES, ModelFolder
from elasticrec.compression.codes import Codes
from elasticrec.coding.mixing import Mixing
from elasticrec.compression.neighbours import Neighbours
from elasticrec.data.ids import Ids
from elasticrec.data.interactions import Pairs
from elasticrec.data.preparation import PrepareConfig, prepare
from elasticrec.rule.estimator.model import Estimator
from elasticrec.presets import preset
from elasticrec.serve.demo import ARCHIVE, full_table
from elasticrec.space.composition import Menu
from elasticrec.space.regroup import load_groups

if TYPE_CHECKING:
    from elasticrec.data.split import Split

ESTIMATED_FROM = ("table", "groups", "menu", "codes", "neighbours", "mixing")


def make_model(root: Path) -> ModelFolder:
    """A coded `history` model of goodbooks with an estimator; what `root` holds is taken up."""
    from elasticrec.search.estimating import estimate_model
    from elasticrec.storing import store
    from elasticrec.training.model import train_model

    chosen = preset("demo")
    folder = ModelFolder.create(root)
    if not folder.has("table"):
        print("training", flush=True)
        split = prepare("goodbooks", PrepareConfig(seed=0))
        # A page knows persons by what they like: the base whose users are the sums of their items.
        config = replace(chosen.train, base="history", aggregation=False)
        train_model(folder, split, config, chosen.space)
    store(folder, tell=lambda part: print(f"making the {part}", flush=True))
    print("estimating", flush=True)
    careful = preset("default")  # nobody waits for it: as many measurements as there should be
    estimate_model(folder, careful.samples, careful.estimator, workers=2)
    return folder


def slim(folder: ModelFolder, root: Path) -> ModelFolder:
    """The same model with what serving needs: no interactions, and a table made from the codes.

    Vectors are kept as the codes turn them, so the codes' own rotation is none.
    """
    codes = folder.load_part("codes", Codes.load)
    codes = replace(codes, rotation=np.eye(codes.dimensions, dtype=np.float32))
    small = ModelFolder.create(root)
    small.save_part("split", without_people(folder.split()))
    small.save_part("table", full_table(codes))
    small.save_part("groups", load_groups(folder))
    small.save_part("menu", folder.load_part("menu", Menu.load))
    small.save_part("codes", codes)
    small.save_part("neighbours", folder.load_part("neighbours", Neighbours.load))
    small.save_part("mixing", folder.load_part("mixing", Mixing.load))
    estimator = folder.load_part("estimator", Estimator.load)
    estimator.save(small.path("estimator"))
    small.record("estimator", estimator.fingerprint(), ESTIMATED_FROM)
    small.describe(**folder.about)
    return small


def without_people(split: Split) -> Split:
    """The items of a split, and nobody who took them."""
    nothing = np.zeros(0, dtype=np.int64)
    nobody = Pairs.from_arrays(nothing, nothing, n_users=0, n_items=split.n_items)
    ids = Ids(split.user_ids.values[:0])
    return replace(split, train=nobody, validation=nobody, test=nobody, user_ids=ids)


def archive(folder: ModelFolder) -> bytes:
    """The folder as one compressed file, without its table."""
    plain = BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as packed:
        for name in sorted([*FILES.values(), "model.json"]):
            path = folder.root / name
            if path.exists() and name != FILES["table"]:
                entry = tarfile.TarInfo(name)
                entry.size = path.stat().st_size
                packed.addfile(entry, BytesIO(path.read_bytes()))
    return lzma.compress(plain.getvalue(), preset=9 | lzma.PRESET_EXTREME)


def main() -> int:
    """0, after the archive was written."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, help="a model folder to train into, or to take up")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = make_model(given.model or Path(scratch) / "model")
        content = archive(slim(folder, Path(scratch) / "slim"))
    ARCHIVE.write_bytes(content)
    print(f"{ARCHIVE.name}: {len(content):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
