"""Columns of a table that hold user, item, rating and time."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from elasticrec.errors import InputError
from elasticrec.settings import Range, check

if TYPE_CHECKING:
    from elasticrec.data.readers.gathering import Expression

log = logging.getLogger(__name__)

USUAL_NAMES = {
    "user": (
        "user userid users username uid customer customerid visitor visitorid reviewer reviewerid "
        "member memberid client clientid account accountid buyer buyerid shopper shopperid player "
        "playerid person personid profile profileid msno session sessionid"
    ),
    "item": (
        "item itemid items iid movie movieid film filmid book bookid product productid "
        "productcode sku itemsku productsku stockcode article articleid asin parentasin isbn "
        "isbn13 goods goodsid offer offerid listing listingid content contentid course courseid "
        "business businessid venue venueid place placeid poi poiid location locationid hotel "
        "hotelid track trackid song songid artist artistid anime animeid animeids game gameid "
        "beer beerid app appid video videoid news newsid recipe recipeid page pageid url"
    ),
    "rating": (
        "rating ratings stars score overall feedback userrating bookrating reviewrating "
        "reviewscore reviewoverall"
    ),
    "time": (
        "timestamp time eventtime datetime date unixreviewtime ts utctime createdat purchasedate "
        "orderdate invoicedate clicktime ratedat reviewdate reviewtime visitedat viewedat "
        "purchasedat eventtimestamp eventdate unixtime epoch"
    ),
    "title": (
        "title name originaltitle movietitle booktitle producttitle productname itemname "
        "trackname artistname description"
    ),
}
"""Usual names of a column, in small letters without `_`, `-` and spaces; the first wins."""

Choice = Callable[[list[str]], dict[str, int]]
"""Given the names of all columns, the places of those to read, by what each means."""


@dataclass(frozen=True)
class Columns:
    """Names of the columns to read; None where a column is looked up by its usual names."""

    user: str | None = None
    """Column of the users; `user`, `user_id`, `userId`, … where not named."""
    item: str | None = None
    """Column of the items; `item`, `item_id`, `movieId`, `book_id`, … where not named."""
    rating: str | None = None
    """Column of the ratings; read only where `min_rating` asks for it."""
    time: str | None = None
    """Column of the times; `timestamp`, `time`, `date`, … where not named."""
    min_rating: Annotated[float, Range(-1e12, 1e12)] | None = None
    """Rows with a smaller rating are left out; None keeps all rows."""
    names: tuple[str, ...] | None = None
    """Names of the columns of a text table without a header, from left to right."""
    separator: str | None = None
    """Stands between two columns of a text table (`\\t` is a tab); None: by its first line."""
    find_time: bool = True
    """Look for times by their usual names where `time` is None; a table may have none."""
    ordered: bool = False
    """The rows run from old to new; used where there are no times."""
    where: str | None = None
    """Rows to read: a condition on any columns in SQL, such as `event == 'purchase'`."""
    weight: str | None = None
    """A column, or an expression in SQL: how much training makes of a row, a number from 0."""

    def __post_init__(self) -> None:
        check(self)

    def choose(self, found: Sequence[str], where: str, *, quiet: bool = False) -> dict[str, int]:
        """Places of the columns to read among those found: `user`, `item`, `rating`, `time`.

        A missing column is refused by name; no time column is needed unless it is named. Columns
        that `where` and `weight` name are chosen as `=NAME`.
        """
        wanted = ["user", "item"]
        if self.min_rating is not None or self.rating is not None:
            wanted.append("rating")
        if self.time is not None or (self.find_time and _usual("time", found)):
            wanted.append("time")
        chosen = {each: position(each, getattr(self, each), found, where) for each in wanted}
        if len(set(chosen.values())) < len(chosen):
            names = ", ".join(repr(found[place]) for place in chosen.values())
            said = f"{where}: columns {names} are not all different"
            raise InputError(f"{said}, expected one for each")
        if self.min_rating is None:
            # A wrong name is refused all the same.
            unread = [chosen.pop("rating")] if self.rating else _usual("rating", found)
            if unread and not (quiet or self.where or self.weight):
                log.info("%s: every row counts alike, whatever its %r; min-rating, where or weight "
                         "make use of it", where, found[unread[0]])  # fmt: skip
        named = [name for each in self.expressions if each is not None for name in each.names]
        return chosen | {f"={name}": position("", name, found, where) for name in named}

    @property
    def expressions(self) -> tuple[Expression | None, Expression | None]:
        """The condition and the weight."""
        from elasticrec.data.readers.gathering import Expression

        where = None if self.where is None else Expression("where", self.where)
        return where, None if self.weight is None else Expression("weight", self.weight)


def position(meaning: str, wanted: str | None, found: Sequence[str], where: str) -> int:
    """The place of one column: the one named, or the first with a usual name."""
    if wanted is not None:
        matches = [place for place, name in enumerate(found) if name == wanted]
        expected = f"{meaning} column {wanted!r}".strip()
    else:
        matches = _usual(meaning, found)
        article = "an" if meaning[0] in "aeio" else "a"
        usual = USUAL_NAMES[meaning].split()[0]
        expected = f"{article} {meaning} column such as {usual!r} (option {meaning} names yours)"
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise InputError(
            f"{where}: column {found[matches[0]]!r} is there {len(matches)} times, expected once"
        )
    shown = ", ".join(repr(name[:40]) for name in list(found)[:12]) or "none"
    hint = ""
    if any(name.strip().replace(".", "").isdigit() for name in found):
        hint = "; a table without a header needs --columns, such as user,item,rating,time"
    raise InputError(f"{where}: found columns {shown}; expected {expected}{hint}")


def _usual(meaning: str, found: Sequence[str]) -> list[int]:
    """Places of the columns that have the first of the usual names that is there at all."""
    plain = [re.sub("[-_ ]", "", name.lower()) for name in found]
    usual = next((name for name in USUAL_NAMES[meaning].split() if name in plain), None)
    return [place for place, name in enumerate(plain) if name == usual]
