"""`elasticrec customize`: the file of a budget, the longest prefix of the stream that fits."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class IdKind(StrEnum):
    """Kinds of id in a file."""

    dense = "dense"
    u32 = "u32"
    u64 = "u64"
    text = "text"


def customize(
    model: Annotated[Path, typer.Argument(help="A model folder, or a stream.")],
    budget: Annotated[str, typer.Option("--budget", "-b", help="A size such as 5MB or 512KB.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")],
    ids: Annotated[
        IdKind, typer.Option(help="Ids in the file: item numbers (dense), or the shop's own.")
    ] = IdKind.dense,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")] = False,
) -> None:
    """Write the recommender of a budget: the first chunks of the stream.

    The file never exceeds the budget. Every larger file of the same model begins with it, so a
    device upgrades by fetching only what it lacks. With ids of its own a file is measured anew.

    \b
    Example:
      elasticrec customize MODEL --budget 5MB -o watch.elastic
      elasticrec customize MODEL --budget 2MB --ids u32 -o watch.elastic
    """
    import json as to_json

    from elasticrec.errors import InputError
    from elasticrec.files import check_writable
    from elasticrec.model import Model
    from elasticrec.space import Budget
    from elasticrec.stream.customizing import customize_model
    from elasticrec.stream.index import copy_prefix

    size = Budget.parse(budget)
    check_writable(output)
    if model.is_dir():
        facts = customize_model(Model.open(model), size, output, id_kind=ids.value)
    elif ids is not IdKind.dense:
        raise InputError(f"--ids {ids.value} needs a model folder, {model} is a file")
    else:
        facts = {"bytes": copy_prefix(model, size.n_bytes, output)}
    facts = {"path": str(output), "budget": size.n_bytes, **facts}
    if json:
        print(to_json.dumps(facts))
        return
    quality = facts.get("quality")
    said = "" if quality is None else f", {quality}"
    print(f"{output}: {facts['bytes']:,} of {size.n_bytes:,} bytes{said}")
