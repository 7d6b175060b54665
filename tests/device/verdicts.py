"""The verdicts of a runtime and of the slow reader on a case of `mutations`.

A verdict is one line: `refused`, or `refused growing` where the rest of a prefix is refused, or
these fields with tabs between:

- the bytes that are used, the five best for nobody, and the eight best, the history included, for a
  history of the first three of them, one unknown id (`nobody` or 2^40) and the first again;
- the five best for this history and the vector;
- the five best for nobody once the withdrawn items are known;
- `taken` and the title of the best item, once the catalogue is known.

A file beside the stream that is refused is `refused`, one that is not given `-`. A list is the
count of unknown ids and `id:score:why` of each item; a text is `x` and its UTF-8 in hexadecimal
digits, nothing is `-`. A runtime that reads no catalogue says `?`.
"""

import hashlib
import json

from tests.stream.reference import Reference
from tests.stream.reference_file import RefusedError, need

UNREAD = "?"
TWICE = "for an id twice"
"""What the slow reader adds: other readers may leave this check until they look the id up."""


def shown(value):
    """An id or a title as text."""
    if value is None:
        return "-"
    return (
        "x" + value.encode("utf-8", "surrogatepass").hex() if isinstance(value, str) else str(value)
    )


def listed(unknown, rows):
    return " ".join([str(unknown), *(":".join((shown(a), str(b), shown(c))) for a, b, c in rows)])


def asked(ids, text):
    """A history from the ids that were listed: some of them, an unknown one, the first again."""
    return [*ids[:3], "nobody" if text else 2**40, *ids[:1]]


def verdict(device, case):
    """What a runtime with the interface of the Python runtime says."""

    def beside(given, act):
        try:
            return act(given) if given else "-"
        except device.StreamError:
            return "refused"

    def plain(found):
        return listed(found.unknown, [(each.id, each.score, each.why) for each in found])

    def withdrawn(file):
        stream.withdraw(file)
        return plain(stream.recommend(k=5, why=True))

    def catalogue(file):
        if not hasattr(stream, "catalogue"):
            return UNREAD
        stream.catalogue(file)
        return "taken" + "".join(f" {shown(each.title)}" for each in stream.recommend(k=1))

    said, first = "refused", case.stream[: case.cut or None]
    most = {"most": len(case.stream)} if hasattr(device, "ask") else {}  # the C runtime's driver
    try:
        with device.open(first, case.key.hex() or None, case.sequence, **most) as stream:
            found = stream.recommend(k=5, why=True)
            if case.cut:
                said = "refused growing"
                stream.refresh(case.stream)
                found = stream.recommend(k=5, why=True)
            about = stream.info()
            history = asked([each.id for each in found], about["ids"] == "text")
            again = stream.recommend(history, k=8, why=True, repeat=True)
            with_vector = beside(
                case.vector, lambda file: plain(stream.recommend(history, file, 5, why=True))
            )
            fields = [plain(found), plain(again), with_vector]
            fields += [beside(case.withdrawn, withdrawn), beside(case.catalogue, catalogue)]
            return "\t".join([str(about["bytes"]), *fields])
    except device.StreamError as error:
        return f"a refusal of several lines: {error!r}" if "\n" in str(error) else said
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def page(case):
    """What the slow reader says."""

    def plain(found):
        ids, scores, why, unknown = found
        return listed(
            unknown, [(typed(a), b, typed(c)) for a, b, c in zip(ids, scores, why, strict=True)]
        )

    def typed(value):
        return value if text or value is None else int(value)

    def beside(given, act):
        try:
            return act(given) if given else "-"
        except RefusedError:
            return "refused"

    def with_vector(file):
        return plain(reader.recommend(history, reader.read_vector(file), 5))

    def withdrawn(file):
        reader.withdrawn = reader.read_withdrawn(file)
        return plain(reader.recommend(k=5))

    def catalogue(file):
        titles = read_catalogue(reader.file, file)
        items = reader.recommend(k=1)[0]
        number = reader.number_of(items[0]) if items else None
        return "taken" + ("" if number is None else f" {shown(titles and titles[number])}")

    said = "refused"
    try:
        key = case.key or None
        if case.cut:
            Reference(case.stream[: case.cut], key=key, sequence=case.sequence)
            said = "refused growing"
        reader = Reference(case.stream, key=key, sequence=case.sequence)
    except RefusedError as error:
        return f"{said} {TWICE}" if "twice" in str(error) else said
    text = reader.file.id_kind == 3
    found = reader.recommend(k=5)
    history = [str(each) for each in asked(found[0], text)]
    again = reader.recommend(history, k=8, repeat=True)
    fields = [plain(found), plain(again), beside(case.vector, with_vector)]
    fields += [beside(case.withdrawn, withdrawn), beside(case.catalogue, catalogue)]
    used = max(end for end in reader.file.ends)
    return "\t".join([str(used), *fields])


def read_catalogue(file, data):
    """The titles in a catalogue (section 11), None where no item has one."""
    need(hashlib.sha256(data).digest() == file.catalogue, "another catalogue")
    try:
        found = json.loads(data.decode("utf-8"), parse_constant=int)  # int refuses NaN
    except (ValueError, RecursionError):
        raise RefusedError("a catalogue that is no JSON in UTF-8") from None
    names = {"format", "model_id", "id_kind", "ids", "titles"}
    need(isinstance(found, dict) and found.keys() == names, "other fields in a catalogue")
    need(found["format"] == "elasticrec catalogue 1", "another format of a catalogue")
    need(found["model_id"] == file.model_id.hex(), "a catalogue of another model")
    need(found["id_kind"] in ("integer", "text"), "another kind of ids in a catalogue")
    for name, types in (("ids", str), ("titles", str | None)):
        texts = found[name]
        if texts is not None or name == "ids":
            need(isinstance(texts, list) and len(texts) == file.V, f"other {name} in a catalogue")
            need(all(isinstance(each, types) for each in texts), f"{name} that are no texts")
    return found["titles"]


def alike(said, expected):
    """True if a verdict is that of the slow reader, or as good."""
    if expected.endswith(TWICE):
        return said.startswith("refused") or said.partition("\t")[0].isdigit()
    if said.endswith(f"\t{UNREAD}"):
        said, expected = said.rpartition("\t")[0], expected.rpartition("\t")[0]
    return said == expected
