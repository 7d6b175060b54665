"""Which columns of a table hold user, item, rating and time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from elasticrec.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

USUAL_NAMES = {
    "user": ("user", "userid", "users", "customer", "customerid", "reviewerid", "visitorid", "uid"),
    "item": (
        *("item", "itemid", "items", "movie", "movieid", "book", "bookid", "product", "productid"),
        *("business", "businessid", "track", "trackid", "song", "songid", "artist", "artistid"),
        *("asin", "parentasin", "isbn", "iid"),
    ),
    "rating": ("rating", "ratings", "stars", "score", "overall"),
    "time": ("timestamp", "time", "date", "datetime", "unixreviewtime"),
    "title": ("title", "name", "originaltitle"),
}
"""What a column is usually called, in small letters without `_`, `-`, spaces; the first wins."""


@dataclass(frozen=True)
class Columns:
    """Names of the columns to read; None where a column is looked up by its usual names."""

    user: str | None = None
    """Who; `user`, `user_id`, `userId`, … where not named."""
    item: str | None = None
    """What; `item`, `item_id`, `movieId`, `book_id`, … where not named."""
    rating: str | None = None
    """How well she liked it; read only where `min_rating` asks for it."""
    time: str | None = None
    """When; read only where named, or where a split by time asks for it."""
    min_rating: float | None = None
    """Rows with a smaller rating are left out; None keeps all rows."""


@dataclass(frozen=True)
class Chosen:
    """Positions of the columns to read among those of a table."""

    user: int
    """Where the users are."""
    item: int
    """Where the items are."""
    rating: int | None = None
    """Where the ratings are, if they are to be read."""
    time: int | None = None
    """Where the times are, if they are to be read."""

    def positions(self) -> dict[str, int]:
        """The columns to read: what each means, and where it is."""
        places = vars(self).items()
        return {meaning: place for meaning, place in places if place is not None}


def choose(found: Sequence[str], wanted: Columns, where: str, *, need_time: bool = False) -> Chosen:
    """Positions of the wanted columns among those found; a missing one is refused by name."""
    rating = time = None
    if wanted.min_rating is not None:
        rating = position("rating", wanted.rating, found, where)
    elif wanted.rating is not None:
        position("rating", wanted.rating, found, where)  # not read, but a slip is worth a word
    if wanted.time is not None or need_time:
        time = position("time", wanted.time, found, where)
    user = position("user", wanted.user, found, where)
    item = position("item", wanted.item, found, where)
    chosen = Chosen(user, item, rating, time)
    places = list(chosen.positions().values())
    if len(set(places)) < len(places):
        names = ", ".join(repr(found[place]) for place in places)
        raise InputError(f"{where}: columns {names} are not all different, expected one for each")
    return chosen


def position(meaning: str, wanted: str | None, found: Sequence[str], where: str) -> int:
    """The place of one column: the one named, or the first with a usual name."""
    if wanted is not None:
        matches = [place for place, name in enumerate(found) if name == wanted]
        expected = f"{meaning} column {wanted!r}"
    else:
        plain = [_plain(name) for name in found]
        known = USUAL_NAMES[meaning]
        usual = next((name for name in known if name in plain), None)
        matches = [place for place, name in enumerate(plain) if name == usual]
        article = "an" if meaning[0] in "aeio" else "a"
        expected = f"{article} {meaning} column such as {known[0]!r} (or name yours)"
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise InputError(
            f"{where}: column {found[matches[0]]!r} is there {len(matches)} times, expected once"
        )
    shown = ", ".join(repr(name[:40]) for name in list(found)[:12]) or "none"
    raise InputError(f"{where}: found columns {shown}; expected {expected}")


def _plain(name: str) -> str:
    """A column name in small letters without separators: `userid` of `User_ID`."""
    return name.lower().translate(str.maketrans("", "", "_- "))
