"""`elasticrec recommend`: the best unseen items for a user, or for anyone with some items."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from elasticrec.cli._output import print_json, print_table, read_ids
from elasticrec.cli._settings import by_engine

if TYPE_CHECKING:
    from elasticrec.recommending import Recommendation


@by_engine
def recommend(
    model: Annotated[str, Argument(help="A finished model folder or a stream, or its address.")],
    user: Annotated[str | None, Option(help="Id of a user of the data.")] = None,
    items: Annotated[
        str | None, Option(help="Ids of items someone took, separated by commas.")
    ] = None,
    k: Annotated[int, Option("-k", help="How many items to list.")] = 20,
    exclude: Annotated[str, Option(help="Ids of items not to list, with commas.")] = "",
    users_file: Annotated[
        Path | None, Option(help="A file with one user id per line; needs --out.")
    ] = None,
    out: Annotated[
        Path | None,
        Option("--out", "-o", help="The .csv, .jsonl or .parquet to write for them."),
    ] = None,
    budget: Annotated[
        str | None, Option(help="Rank with the file of this size; by default with all.")
    ] = None,
    diversity: Annotated[
        float, Option(help="Up to 1: how much items differ from those above.", min=0, max=1)
    ] = 0.0,
    json: Annotated[bool, Option("--json", help="Print a JSON list instead.")] = False,
) -> None:
    """List the best items for a person, as a device would list them.

    A run with --users-file that was cut off goes on with the same command.

    \b
    Example:
      elasticrec recommend MODEL --user 42
      elasticrec recommend MODEL --items 1,2,3 -k 10 --budget 1MB
      elasticrec recommend MODEL --users-file users.txt -o lists.parquet --engine processes
      elasticrec recommend watch.elastic --items 1,2,3
    """
    from elasticrec.addresses import fetched
    from elasticrec.errors import InputError
    from elasticrec.files import check_writable
    from elasticrec.model import Model
    from elasticrec.recommending import Ranker, recommend_from_stream, write_lists
    from elasticrec.space import Budget

    ways = [way for way in (user, items, users_file) if way is not None]
    if len(ways) != 1 or (users_file is None) != (out is None):
        raise InputError("expected one of --user, --items, or --users-file with --out")
    if out is not None:
        check_writable(out)
    with fetched(model) as path:
        if path.is_file():
            if items is None or budget is not None:
                raise InputError(f"{path}: is a stream, expected --items and no --budget")
            listed = recommend_from_stream(
                path, _ids(items), k=k, exclude=_ids(exclude), diversity=diversity
            )
            return _print(listed, json)
        ranker = Ranker(Model.open(path), None if budget is None else Budget.parse(budget))
        if users_file is not None and out is not None:
            users, barred = read_ids(users_file), _ids(exclude)
            n_users = write_lists(ranker, users, out, k=k, exclude=barred, diversity=diversity)
            return print(f"wrote the lists of {n_users:,} users to {out}")
        history = None if items is None else _ids(items)
        listed = ranker.recommend(
            user, items=history, k=k, exclude=_ids(exclude), diversity=diversity
        )
        return _print(listed, json)


def _ids(text: str) -> list[str]:
    """The ids in a text, separated by commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def _print(listed: list[Recommendation], json: bool) -> None:
    """Print the list as JSON, or as a table, without a title column where no title is known."""
    from dataclasses import asdict

    if json:
        return print_json([asdict(found) for found in listed])
    titled = any(found.title for found in listed)
    rows = []
    for place, found in enumerate(listed, start=1):
        # The scores of a device are whole numbers.
        score = f"{found.score:.4f}" if isinstance(found.score, float) else str(found.score)
        rows.append([str(place), str(found.id), *([found.title or ""] if titled else []), score])
    print_table(["", "item", *(["title"] if titled else []), "score"], rows, left="title")
