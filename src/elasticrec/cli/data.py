"""The command group `data`: prepare a split from raw files, and count one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from elasticrec.cli import _settings as options

if TYPE_CHECKING:
    from elasticrec.data.split import Split

data = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Prepare interactions for training: read, filter, split; and count them.",
)


@data.command()
@options.reads_interactions
def prepare(
    source: Annotated[
        str, Argument(help="A file, folder, pattern or address of tables; goodbooks.")
    ],
    out: Annotated[Path, Option("--out", "-o", help="The split to write.")] = Path("split.npz"),
    reading: Any = None,
) -> None:
    """Read interactions, leave out rare users and items, split, and write one file.

    Columns are found by their usual names (user_id, movieId, …) unless you name them. The split
    is temporal where there are times, last where the order of a user's items is known, else random.

    \b
    Example:
      elasticrec data prepare ratings.csv --min-rating 4 -o split.npz
      elasticrec data prepare events.csv.gz --where "event == 'purchase'" -o split.npz
      elasticrec data prepare gowalla/train.txt.gz --test gowalla/test.txt.gz -o gowalla.npz
    """
    from elasticrec.cli._output import logged_to_stderr
    from elasticrec.data import preparation
    from elasticrec.files import check_writable
    from elasticrec.progress import stage

    check_writable(out)
    with logged_to_stderr():
        prepared = preparation.prepare(source, reading)
        with stage(f"writing {out}"):
            prepared.save(out)
    print(f"wrote {out}")
    _print_counts(prepared)


@data.command()
def stats(
    split: Annotated[Path, Argument(help="A split written by `elasticrec data prepare`.")],
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
    from elasticrec.cli._output import print_table
    from elasticrec.data.split import count

    whole, *parts = count(split)
    numbers = [f"{n:,}" for n in (whole.users, whole.items, whole.interactions)]
    heads = ["Dataset", "#User", "#Item", "#Interaction", "Sparsity", "Split"]
    print_table(heads, [[split.name, *numbers, f"{whole.sparsity:.2%}", split.kind]])
    print()
    rows = []
    for part in parts:
        counts = (part.users, part.known, part.items, part.interactions)
        rows.append([part.part, *(f"{n:,}" for n in counts), "{}-{}".format(*part.per_user)])
    print_table(["Part", "Users", "In train", "Items", "Interactions", "Per user"], rows)
