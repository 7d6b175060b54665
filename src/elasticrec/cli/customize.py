"""Files for devices: `elasticrec customize`, `catalogue`, `vector` and `withdraw`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from elasticrec.cli._output import print_json, read_ids
from elasticrec.cli._settings import JSON
from elasticrec.errors import InputError
from elasticrec.files import check_writable, save_bytes

IdKind = StrEnum("IdKind", ["dense", "u32", "u64", "text"])
"""Kinds of id in a file."""


def customize(
    model: Annotated[str, Argument(help="A model folder or a stream, or its address.")],
    budget: Annotated[str, Option("--budget", "-b", help="A size such as 5MB or 512KB.")],
    output: Annotated[Path, Option("--output", "-o", help="The file to write.")],
    ids: Annotated[
        IdKind, Option(help="Ids in the file: item numbers (dense), or the shop's own.")
    ] = IdKind.dense,
    json: JSON = False,
) -> None:
    """Write the recommender of a budget: the first chunks of the stream.

    The file never exceeds the budget. Every larger file of the same model begins with it, so a
    device upgrades by fetching only what it lacks. With ids of its own a file is measured anew.

    \b
    Example:
      elasticrec customize MODEL --budget 5MB -o watch.elastic
      elasticrec customize MODEL --budget 2MB --ids u32 -o watch.elastic
    """
    from elasticrec.addresses import fetched
    from elasticrec.model import Model
    from elasticrec.space import Budget
    from elasticrec.stream.chunk import copy_prefix
    from elasticrec.stream.curve import customize_model

    size = Budget.parse(budget)
    check_writable(output)
    with fetched(model) as path:
        if path.is_dir():
            facts = customize_model(Model.open(path), size, output, id_kind=ids.value)
        elif ids is not IdKind.dense:
            raise InputError(f"--ids {ids.value} needs a model folder, {path} is a file")
        else:
            facts = {"bytes": copy_prefix(path, size.n_bytes, output)}
    facts = {"path": str(output), "budget": size.n_bytes, **facts}
    if json:
        return print_json(facts)
    said = f", {facts['quality']}" if facts.get("quality") else ""
    print(f"{output}: {facts['bytes']:,} of {size.n_bytes:,} bytes{said}")


def catalogue(
    model: Annotated[Path, Argument(help="A finished model folder.")],
    output: Annotated[Path, Option("--output", "-o", help="The JSON file to write.")],
) -> None:
    """Copy the catalogue of a model: the ids and titles behind its item numbers.

    \b
    Example:
      elasticrec catalogue MODEL -o catalogue.json
    """
    from elasticrec.model import Model

    check_writable(output)
    opened = Model.open(model)
    content = opened.check("catalogue").read_bytes()
    save_bytes(output, content)
    print(f"{output}: {len(content):,} bytes, {opened.split.n_items:,} items")


def vector(
    model: Annotated[Path, Argument(help="A finished model folder with user vectors.")],
    user: Annotated[str, Option(help="Id of a user of the data.")],
    output: Annotated[Path, Option("--output", "-o", help="The file to write.")],
) -> None:
    """Write a user's vector, for models that have users (mf and lightgcn).

    The file says nothing but the vector; keep it as private as the user's history.

    \b
    Example:
      elasticrec vector MODEL --user 42 -o 42.vector
    """
    from elasticrec.data.histories import Histories
    from elasticrec.model import Model
    from elasticrec.stream.side_files import vector_bytes

    check_writable(output)
    opened = Model.open(model)
    vectors = opened.server_vectors()
    if vectors is None:
        said = f"base {opened.table.base} has no user vectors, a device needs only a history"
        raise InputError(f"{model}: {said}")
    number = int(Histories(opened.split).user(user)[0])
    if not vectors[number].any():
        raise InputError(f"nothing was learned of user {user!r}: the vector is 0")
    content = vector_bytes(vectors[number], opened.id)
    save_bytes(output, content)
    print(f"{output}: {len(content):,} bytes")


def withdraw(
    model: Annotated[Path, Argument(help="A finished model folder.")],
    items: Annotated[Path, Argument(help="A text file with one item id per line.")],
    output: Annotated[Path, Option("--output", "-o", help="The file to write.")],
    sequence: Annotated[
        int, Option(help="Number of the list; a later list has a larger one.", min=0)
    ] = 0,
    sign: Annotated[Path | None, Option(help="A private key of `elasticrec keys new`.")] = None,
) -> None:
    """Write the list of withdrawn items, which devices take beside the stream.

    The stream stays as it is, so devices fetch some bytes and not megabytes.

    \b
    Example:
      elasticrec withdraw MODEL recalled.txt -o withdrawn.elastic --sequence 3
    """
    import numpy as np

    from elasticrec.data.histories import Histories
    from elasticrec.model import Model
    from elasticrec.stream.side_files import WithdrawnList, load_key

    check_writable(output)
    opened = Model.open(model)
    ids, persons = read_ids(items), Histories(opened.split)
    known = persons.of_items(ids).items if ids else np.zeros(0, np.int32)
    key = None if sign is None else load_key(sign)
    content = WithdrawnList(opened.id, known, sequence).pack(key)
    save_bytes(output, content)
    print(f"{output}: {len(known):,} items withdrawn, {len(content):,} bytes")
