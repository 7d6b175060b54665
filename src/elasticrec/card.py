"""The model card: data, recipe, quality, use and privacy of a model, in its README.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from elasticrec.data.split import Split
from elasticrec.files import save_bytes
from elasticrec.model import Model
from elasticrec.model_folder import plain
from elasticrec.presets import Preset
from elasticrec.stream.curve import LINES, table_of, whom

FEW_PAIRS = 10
"""Train pairs per item below which more data are said to help."""
FEW_USERS = 500
"""Measured users below which more data are said to help."""
CHANCE = 0.05
"""A lead that chance makes more often than this is called none."""


def verdict(model: Model) -> str:
    """One sentence: how good a model is beside the best baseline, and what would help."""
    if not model.has("curve"):
        return "tiled scores have no stream, so nothing was measured beside baselines"
    curve = model.curve
    metric, name = curve["metric"], curve["beside"]["baseline"]
    own, other = curve["points"][-1][metric], curve[name][metric]
    if curve["beside"]["p"] > CHANCE:
        said = f"is no better or worse than the {other:.4f} of {LINES[name]} beyond chance"
    else:
        lead = "" if not other else f" by {100 * abs(own / other - 1):.0f} %"
        word = "better" if own > other else "worse"
        said = f"is {word}{lead} than the {other:.4f} of {LINES[name]}"
    measured = f"{metric} {own:.4f} {said}, on {whom(curve)}"
    return f"{measured}; {_help(model, better=own > other)}"


def _help(model: Model, *, better: bool) -> str:
    """A few words on what would make a model better."""
    curve, train = model.curve, model.split.train
    metric, points = curve["metric"], curve["points"]
    pairs = len(train) / max(model.split.n_items, 1)
    if curve["users"] < FEW_USERS:
        return f"more users would help most: {curve['users']:,} say little"
    if pairs < FEW_PAIRS:
        return f"more data would help most: an item has {pairs:.1f} train interactions"
    if curve["full"][metric] > 1.02 * points[-1][metric]:
        return f"a finer file would help: the trained vectors reach {curve['full'][metric]:.4f}"
    enough = enough_bytes(curve)
    if enough < points[-1]["bytes"]:
        return f"{enough:,} bytes are within 1 % of the best size measured, more hardly help"
    return "a larger file would not help" if better else "other settings may help"


def enough_bytes(curve: dict[str, Any]) -> int:
    """The smallest measured size within 1 % of the best one."""
    metric, points = curve["metric"], curve["points"]
    best = max(point[metric] for point in points)
    return int(next(point["bytes"] for point in points if point[metric] >= 0.99 * best))


def save_card(model: Model, path: Path) -> None:
    """Write the model card."""
    split, about, said = model.split, model.about, verdict(model)
    parts = [
        "---\nlibrary_name: elasticrec\ntags: [recommender, on-device, elasticrec]\n---",
        f"# {split.name}",
        f"A recommender of {split.n_items:,} items that `elasticrec fit` made on "
        f"{about['trained']}. {said[0].upper()}{said[1:]}.",
        "## Data",
        f"{split.n_users:,} users, {split.n_items:,} items. {_parts(split)}",
        "## Recipe",
        _recipe(about),
    ]
    if model.has("curve"):
        parts += ["## Quality by size", _table(model.curve), "## Use", _use(model)]
        parts += ["## Privacy", _privacy(model)]
    save_bytes(path, ("\n\n".join(parts) + "\n").encode())


def _parts(split: Split) -> str:
    """A sentence or two on the parts of a split."""
    parts = (split.train, split.validation, split.test)
    train, validation, test = (f"{len(part):,}" for part in parts)
    if not len(split.validation):
        return (
            f"Quality was measured and all was chosen on a validation part; then the model was "
            f"trained anew on it as well, {train} interactions in all. {test} are left for tests."
        )
    return f"{train} interactions to train on, {validation} to choose by, {test} for tests."


def _recipe(about: dict[str, Any]) -> str:
    """Settings that differ from the default preset, choices of validation, and seconds."""
    usual = dict(_dotted(plain(Preset().as_dict())))
    own = _dotted(plain(about["preset"]))
    changed = [f"- `{name} = {value!r}`" for name, value in own if value != usual.get(name)]
    said = "Settings that differ from the default preset:\n\n" if changed else "The default preset."
    choices = "; ".join(f"{each['name']} {each['chosen']}" for each in about.get("choices", []))
    chose = f" Validation chose: {choices}." if choices else ""
    seconds = sum(about.get("seconds", {}).values())
    settings = said + "\n".join(changed)
    return f"{settings}\n\n{about['epochs']} epochs, {seconds:.0f} seconds in all.{chose}"


def _dotted(settings: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Plain settings with their dotted names."""
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from _dotted(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _table(curve: dict[str, Any]) -> str:
    """The curve as a Markdown table."""
    heads, *rows = table_of(curve)
    lines = [heads, ["---", *["--:"] * len(heads[1:])], *rows]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"Measured on {whom(curve)}.\n\n{table}"


def _use(model: Model) -> str:
    split = model.split
    ids = ",".join(str(split.item_ids.of_number(n)) for n in range(min(2, split.n_items)))
    return (
        f"```\nelasticrec recommend . --items {ids}\n"
        f"elasticrec customize . --budget {enough_bytes(model.curve)} -o device.elastic\n```"
    )


def _privacy(model: Model) -> str:
    private = ["`split.npz` (who took what, with the ids of users)"]
    if model.table.users is not None:
        private.append("`table.safetensors` (a vector of each user)")
    return (
        f"`stream.elastic` has neighbours only where at least {model.neighbours.min_support} users "
        f"stand behind them, and no user's data. Not for the public: {' and '.join(private)}. "
        "`elasticrec publish` writes what may be seen by everyone."
    )
