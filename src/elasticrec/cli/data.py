"""The command group `data`: prepare a split from raw files, and count one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from elasticrec.data.split import Split

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def data() -> None:
    """Prepare interactions for training: read, filter, split; and count them."""


@app.command()
def prepare(
    source: Annotated[
        str, typer.Argument(help="A text or Parquet table, JSON lines, lists, or `goodbooks`.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The split to write.")] = Path(
        "split.npz"
    ),
    format: Annotated[  # noqa: A002
        str | None,
        typer.Option(help="csv, tsv, parquet, json, lists or goodbooks; else by SOURCE's name."),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(help="Names of all columns of a table without a header: user,item,time."),
    ] = None,
    separator: Annotated[
        str | None, typer.Option(help="Stands between columns; else found in the first line.")
    ] = None,
    user: Annotated[str | None, typer.Option(help="Column of the users.")] = None,
    item: Annotated[str | None, typer.Option(help="Column of the items.")] = None,
    rating: Annotated[
        str | None, typer.Option(help="Column of the ratings, for --min-rating.")
    ] = None,
    min_rating: Annotated[
        float | None, typer.Option(help="Leave out interactions with a smaller rating.")
    ] = None,
    time: Annotated[str | None, typer.Option(help="Column of the times.")] = None,
    ordered: Annotated[
        bool, typer.Option(help="The rows of a table without times run from old to new.")
    ] = False,
    test: Annotated[
        Path | None, typer.Option(help="The published test part; SOURCE is then the train part.")
    ] = None,
    min_interactions: Annotated[
        int | None,
        typer.Option(
            help="Fewest per user and item (10, or fewer if that drops more than half of the "
            "interactions; a published split is not filtered)."
        ),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(
            help="temporal (one cut in time), last (each user's last items) or random; else the "
            "first of these that the data allow."
        ),
    ] = None,
    validation: Annotated[
        str | None,
        typer.Option(
            help="With --test: last or random, the eighth of each user's train items to hold out; "
            "else last where an order is known."
        ),
    ] = None,
    id_lists: Annotated[
        bool, typer.Option(help="Lists: ids from user_list.txt and item_list.txt beside SOURCE.")
    ] = False,
    titles: Annotated[
        Path | None, typer.Option(help="A table with an item and a title column.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the data set in results.")] = None,
    seed: Annotated[int, typer.Option(help="Fixes every random choice.")] = 0,
) -> None:
    """Read interactions, leave out rare users and items, split, and write one file.

    Columns are found by their usual names (user_id, movieId, …) unless you name them.

    \b
    Example:
      elasticrec data prepare ratings.csv --min-rating 4 -o split.npz
      elasticrec data prepare gowalla/train.txt.gz --test gowalla/test.txt.gz -o gowalla.npz
    """
    from elasticrec.cli._log import logged_to_stderr
    from elasticrec.data.preparation import PrepareConfig
    from elasticrec.data.preparation import prepare as prepare_split
    from elasticrec.data.readers.columns import Columns
    from elasticrec.files import check_writable
    from elasticrec.stages import stage

    config = PrepareConfig(
        format=format,
        columns=Columns(
            user,
            item,
            rating,
            time,
            min_rating,
            names=None if columns is None else tuple(columns.split(",")),
            separator=None if separator is None else separator.replace("\\t", "\t"),
            ordered=ordered,
        ),
        test=test,
        split=split,
        validation=validation,
        min_interactions=min_interactions,
        id_lists=id_lists,
        titles=titles,
        name=name,
        seed=seed,
    )
    check_writable(out)
    with logged_to_stderr():
        prepared = prepare_split(source, config)
        with stage(f"writing {out}"):
            prepared.save(out)
    print(f"wrote {out}")
    _print_counts(prepared)


@app.command()
def stats(
    split: Annotated[Path, typer.Argument(help="A split written by `elasticrec data prepare`.")],
) -> None:
    """Print the counts of a split as the paper's dataset table does, then those of its parts.

    \b
    Example:
      elasticrec data stats split.npz
    """
    from elasticrec.data.split import Split

    _print_counts(Split.load(split))


def _print_counts(split: Split) -> None:
    """Print one table of the whole data set and one of its parts."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from elasticrec.data.split import count

    whole, *parts = count(split)
    console = Console()
    table = Table("Dataset", box=None)
    for heading in ("#User", "#Item", "#Interaction", "Sparsity", "Split"):
        table.add_column(heading, justify="right")
    numbers = (f"{n:,}" for n in (whole.users, whole.items, whole.interactions))
    table.add_row(Text(split.name), *numbers, f"{whole.sparsity:.2%}", Text(split.kind))
    console.print(table)
    console.print()
    table = Table("Part", box=None)
    for heading in ("Users", "In train", "Items", "Interactions", "Per user", "Rare items"):
        table.add_column(heading, justify="right")
    for part in parts:
        counts = (part.users, part.known, part.items, part.interactions)
        span = "{}-{}".format(*part.per_user)
        table.add_row(part.part, *(f"{n:,}" for n in counts), span, f"{part.rare:.1%}")
    console.print(table)
