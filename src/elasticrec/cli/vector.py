"""`elasticrec vector`: the vector of one user as a file for her device."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def vector(
    model: Annotated[Path, typer.Argument(help="A finished model folder with user vectors.")],
    user: Annotated[str, typer.Option(help="Id of a user of the data.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")],
) -> None:
    """Write a user's vector, for models that have users (mf and lightgcn).

    The file says nothing but the vector; keep it as private as the user's history.

    \b
    Example:
      elasticrec vector MODEL --user 42 -o 42.vector
    """
    from elasticrec.errors import InputError
    from elasticrec.files import check_writable, written_whole
    from elasticrec.model import Model
    from elasticrec.stream.side_files import vector_file

    check_writable(output)
    opened = Model.open(model)
    if opened.table.users is None:
        raise InputError(
            f"{model}: base {opened.table.base} has no user vectors, a device needs only a history"
        )
    number = int(opened.split.user_ids.numbers([user])[0])
    if number < 0:
        raise InputError(f"no user {user!r} in the data")
    content = vector_file(opened.table.users[number], opened.codes.rotation, opened.id)
    with written_whole(output) as file:
        file.write(content)
    print(f"{output}: {len(content):,} bytes")
