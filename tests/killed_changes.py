"""Two models of small text files, of which `tests.killing` kills the writer of the second."""

from elasticrec.changing import changed
from elasticrec.errors import InputError
from elasticrec.model import FILES, Model

SOURCES = {
    "split": (), "table": ("split",), "codes": ("table",), "neighbours": ("split",),
    "weights": ("codes",), "order": ("codes", "neighbours"), "catalogue": ("codes",),
    "stream": ("codes", "order", "weights", "neighbours"), "curve": ("stream", "split"),
}  # fmt: skip
"""The parts that a fit makes, in its order."""


def fill(model, text):
    """Make each part that is not there yet, as a fit does."""
    if not model.fresh("split", {"is": text}):
        model.clear()
    for part, sources in SOURCES.items():
        if not model.fresh(part, {"is": text}):
            save = lambda path: path.write_text(text)  # noqa: E731
            model.save_part(part, save, made_from=sources, config={"is": text})
            model.describe(last=part)


def prepare(root):
    with changed(root) as model:
        fill(model, "old")
        model.save_part("samples", lambda path: path.write_text("old") and None)


def change(root):
    with changed(root) as model:
        fill(model, "new")


def read(root):
    """The one text of all parts; anything else is a finding of its own."""
    try:
        model = Model.open(root)
        texts = {model.check(part).read_text() for part in model.content["parts"]}
    except InputError as error:
        return str(error)
    left = {each.name for each in root.iterdir()} - {*FILES.values(), "model.json", ".lock"}
    known = left <= {".next", ".ready"}
    return " and ".join(sorted(texts)) if model.is_finished and known else f"unfinished {left}"
