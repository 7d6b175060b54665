"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

MOST_SEED = 2**63 - 1
USER = Annotated[str | None, Option(help="Column of the users.")]
ITEM = Annotated[str | None, Option(help="Column of the items.")]
TIME = Annotated[str | None, Option(help="Column of the times.")]
RATING = Annotated[str | None, Option(help="Column of the ratings, for --min-rating.")]
MIN_RATING = Annotated[float | None, Option(help="Leave out smaller ratings.")]
WHERE = Annotated[
    str | None, Option(help="Rows to read, in SQL: \"event = 'purchase'\".", metavar="CONDITION")
]
WEIGHT = Annotated[
    str | None,
    Option(help="How much rows count in training: a column, or SQL.", metavar="EXPRESSION"),
]
COLUMNS = Annotated[
    str | None, Option(help="Columns of a table without a header: user,item,rating,time.")
]
MIN_INTERACTIONS = Annotated[
    int | None, Option(help="Fewest per user and item; else 10, or 5 or 2 for sparse data.")
]
TITLES = Annotated[Path | None, Option(help="A table or JSON file with items and titles.")]
TEST = Annotated[
    Path | None, Option(help="The published test part; SOURCE is then the train part.")
]
PRESET = Annotated[str, Option(help="default, demo, paper-amazon-book or paper-yelp.")]
OWN_PRESET = Annotated[
    str | None, Option("--preset", help="Settings to start from; by default the model's own.")
]
SETTINGS = Annotated[
    list[str] | None, Option("--set", help="A setting as stage.name=value; may be repeated.")
]
SEED = Annotated[int, Option(help="Fixes everything that is drawn.", min=0, max=MOST_SEED)]
OWN_SEED = Annotated[
    int | None,
    Option("--seed", help="Fixes what is drawn; by default the model's own.", min=0, max=MOST_SEED),
]
DEVICE = Annotated[str, Option(help="auto, cpu or cuda.")]
JSON = Annotated[bool, Option("--json", help="Print one JSON object instead.")]


def listed(text: str | None) -> tuple[str, ...] | None:
    """The parts of a text with commas, without spaces around them."""
    return None if text is None else tuple(part.strip() for part in text.split(","))
