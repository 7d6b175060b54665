"""`elasticrec inspect`: what a model or a stream holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument

from elasticrec.cli._output import print_json
from elasticrec.cli._settings import JSON

if TYPE_CHECKING:
    from elasticrec.stream.chunk import StreamIndex


def inspect(
    path: Annotated[Path, Argument(help="A model folder, a stream, or a prefix of one.")],
    json: JSON = False,
) -> None:
    """Show what a model chose and how good it is, or what items have in a file.

    \b
    Example:
      elasticrec inspect MODEL
      elasticrec inspect watch.elastic
    """
    from elasticrec.model import Model
    from elasticrec.stream.chunk import read_index

    facts = _of_model(Model.open(path)) if path.is_dir() else _of_stream(read_index(path))
    if json:
        return print_json(facts)
    for name, value in facts.items():
        for line in value if isinstance(value, list) else [value]:
            print(f"{name}: {_text(line)}")


def _text(value: Any) -> str:
    """One fact as a person reads it."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(each)}" for name, each in value.items())
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _of_model(model: Any) -> dict[str, Any]:
    """The facts of a model, in the order in which a reader asks for them."""
    about: dict[str, Any] = model.about
    facts: dict[str, Any] = {}
    if model.has("split"):
        split = model.split
        facts["data"] = (
            f"{split.name}, {split.n_users:,} users, {split.n_items:,} items, "
            f"{len(split.train):,} train pairs, {split.kind} split"
        )
    if model.has("table"):
        table = model.table
        facts["trained"] = (
            f"{table.base}, {table.n_blocks} blocks of {table.block_size}, {about['epochs']} "
            f"epochs, {about['trained']}"
        )
        facts["validation"] = about["validation"]
    if model.has("codes") and model.has("neighbours"):
        lists = model.neighbours
        facts["codes"] = f"{model.codes.n_columns} columns of a byte per item"
        facts["lists"] = (
            f"{lists.slots} neighbours per item, at least {lists.min_support} persons behind each"
        )
        facts["model id"] = model.id
    facts["choice"] = [choice_text(each) for each in about.get("choices", [])]
    facts["seconds"] = about.get("seconds", {})
    if model.has("curve"):
        from elasticrec.stream.curve import whom

        curve, metric = model.curve, model.curve["metric"]
        points = [f"{each['bytes']:,} bytes: {each[metric]:.4f}" for each in curve["points"]]
        facts[f"{metric} on {whom(curve)}"] = points
    return facts


def choice_text(choice: dict[str, Any]) -> str:
    """One line on a choice that validation made."""
    lead, low = choice["lead_percent"][choice["chosen"]]
    if choice["chosen"] == choice["default"]:
        said = "the default; nothing led it clearly"
    else:
        said = f"{lead:+.1f} % over {choice['default']} (at least {low:+.1f} %)"
    few = ", few persons" if choice["few"] else ""
    return f"{choice['name']} {choice['chosen']}, {said}; {choice['persons']:,} persons{few}"


def _of_stream(index: StreamIndex) -> dict[str, Any]:
    """The facts of a stream or a prefix."""
    from datetime import UTC, datetime

    from elasticrec.stream.curve import prefix_composition
    from elasticrec.stream.format import ID_KINDS

    head, n_bytes = index.head, index.ends[-1]
    runs = prefix_composition(index, n_bytes).runs()
    return {
        "stream": f"{n_bytes:,} of {head.length:,} bytes, {len(index.ends)} chunks",
        "smallest useful size": f"{head.least:,} bytes",
        "items": f"{head.n_items:,}",
        "ids": ID_KINDS[head.id_kind],
        "model id": head.model_id.hex(),
        "trained": datetime.fromtimestamp(head.trained, UTC).date().isoformat(),
        "sequence": head.sequence,
        "signed": "yes" if any(head.signature) else "no",
        "have": [f"items {a:,} to {b - 1:,}: {c} columns, {s} neighbours" for a, b, c, s in runs],
    }
