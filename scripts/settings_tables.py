"""Writes the tables of settings in docs/; `--check` fails where one is stale.

A page holds the head of a table, `| setting, `order.NAME` | default | |`; its rows come from the
fields of a config, their defaults and their docstrings.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from dataclasses import is_dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from elasticrec.compression.config import CompressionConfig, LinearConfig  # noqa: E402
from elasticrec.evaluation.baselines import BaselineConfig  # noqa: E402
from elasticrec.ordering.order import OrderConfig  # noqa: E402
from elasticrec.ordering.search import OrderSearchConfig  # noqa: E402
from elasticrec.stream.curve import CurveConfig  # noqa: E402
from scripts.pages import keep  # noqa: E402

TABLES = {
    "compression.md": {"compression": CompressionConfig, "compression.linear": LinearConfig},
    "ordering.md": {
        "order.order": OrderConfig,
        "order": OrderSearchConfig,
        "curve": CurveConfig,
        "curve.baselines": BaselineConfig,
    },
}
"""By page, the config behind each table."""


def rows(config: type[Any]) -> str:
    """One row for each field of a config that is no config itself."""
    tree = ast.parse(Path(inspect.getfile(config)).read_text(encoding="utf-8"))
    (body,) = [node.body for node in ast.walk(tree) if getattr(node, "name", "") == config.__name__]
    out = []
    for field, about in pairwise(body):
        if not isinstance(field, ast.AnnAssign):
            continue
        default = getattr(config(), field.target.id)
        if not is_dataclass(default):
            sentence = " ".join(about.value.value.split())
            out.append(f"| `{field.target.id}` | {_shown(default)} | {sentence} |\n")
    return "".join(out)


def _shown(default: Any) -> str:
    """A default as `--set` takes it."""
    if isinstance(default, tuple):
        return ", ".join(map(_shown, default))
    return default if isinstance(default, str) else f"{default:g}"


def render(page: Path, tables: dict[str, type[Any]]) -> str:
    """The text of a page with fresh tables."""
    text = page.read_text(encoding="utf-8")
    for name, config in tables.items():
        head = rf"(^\| setting, `{re.escape(name)}\.NAME` .*\n\|.*\n)((?:\|.*\n)*)"
        made = rows(config)
        text, n = re.subn(head, lambda found, made=made: found[1] + made, text, flags=re.M)
        if n != 1:
            raise ValueError(f"{page}: {n} tables of {name}, expected one")
    return text


def main() -> int:
    """0 when all pages were written, or are fresh."""
    paths = {ROOT / "docs" / page: tables for page, tables in TABLES.items()}
    return max(keep(path, lambda p=path, t=tables: render(p, t)) for path, tables in paths.items())


if __name__ == "__main__":
    sys.exit(main())
