"""`elasticrec withdraw`: the list of items that devices must no longer show."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def withdraw(
    model: Annotated[Path, typer.Argument(help="A finished model folder.")],
    items: Annotated[Path, typer.Argument(help="A text file with one item id per line.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")],
    sequence: Annotated[
        int, typer.Option(help="Number of the list; a later list has a larger one.", min=0)
    ] = 0,
    sign: Annotated[
        Path | None, typer.Option(help="A private key of `elasticrec keys new`.")
    ] = None,
) -> None:
    """Write the list of withdrawn items, which devices take beside the stream.

    The stream stays as it is, so devices fetch some bytes and not megabytes.

    \b
    Example:
      elasticrec withdraw MODEL recalled.txt -o withdrawn.elastic --sequence 3
    """
    import logging

    import numpy as np

    from elasticrec.cli._output import read_ids
    from elasticrec.errors import InputError
    from elasticrec.files import check_writable, written_whole
    from elasticrec.model import Model
    from elasticrec.stream.side_files import WithdrawnList
    from elasticrec.stream.signing import load_key

    check_writable(output)
    opened = Model.open(model)
    ids = read_ids(items)
    numbers = np.asarray(opened.split.item_ids.numbers(ids))
    unknown = int((numbers < 0).sum())
    if ids and unknown == len(ids):
        raise InputError(f"{items}: none of {unknown} ids is known, the first is {ids[0]!r}")
    if unknown:
        logging.getLogger(__name__).warning("%d of %d ids are unknown, skipped", unknown, len(ids))
    known = np.unique(numbers[numbers >= 0])
    made = WithdrawnList(opened.id, known, sequence)
    content = made.pack(None if sign is None else load_key(sign))
    with written_whole(output) as file:
        file.write(content)
    print(f"{output}: {len(known):,} items withdrawn, {len(content):,} bytes")
