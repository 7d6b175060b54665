"""The model that comes with the package, for a look at the service without any training.

One archive holds a model folder but its table: that is what the codes say at full depth, and is
made from them when the archive is unpacked. `scripts/demo_model.py` makes the archive.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np

from elasticrec.blocks.folder import FILES
from elasticrec.training.table import BlockTable
from elasticrec.compression.codes import Codes
from elasticrec.compression.signs import BLOCK
from elasticrec.errors import InputError

ARCHIVE = Path(__file__).parent / "goodbooks.tar.xz"
"""The packaged model."""
NAME = "goodbooks"
"""What it is called in URLs."""
DEEPEST = 8


def demo_shelf() -> Path:
    """Where the demo keeps its files unless told: a folder in the user's cache, not in her own."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "elasticrec" / "demo-shelf"


def demo_models(place: Path) -> tuple[Path, ...]:
    """The packaged model's folder, unpacked below `place` unless it lies there already."""
    if not ARCHIVE.exists():
        raise InputError("this installation has no packaged model; expected a model folder instead")
    digest = hashlib.sha256(ARCHIVE.read_bytes()).hexdigest()
    folder = place / f"demo-{digest[:12]}" / NAME
    if not folder.exists():
        unpack(ARCHIVE, folder)
    return (folder,)


def unpack(archive: Path, folder: Path) -> None:
    """Make the model folder of an archive; it appears whole, or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix="unpacking-", dir=folder.parent))
    try:
        with tarfile.open(archive) as stored:
            stored.extractall(partial, filter="data")
        full_table(Codes.load(partial / FILES["codes"])).save(partial / FILES["table"])
        partial.chmod(0o755)
        os.rename(partial, folder)
    except OSError:
        if not folder.exists():  # another process was not quicker either
            raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def full_table(codes: Codes) -> BlockTable:
    """What codes say of all items at full depth, as the table of a `history` model."""
    depths = np.full(codes.n_blocks, DEEPEST)
    blocks = np.empty((codes.n_items, codes.n_blocks, BLOCK), dtype=np.float32)
    for start, stop in pairwise(codes.bounds.tolist()):
        blocks[start:stop] = codes.decode(start, stop, depths, with_gain=False).reshape(
            stop - start, codes.n_blocks, BLOCK
        )
    return BlockTable(blocks, None, "history")
