"""Benchmark lines: result lines whose metrics are a value, its unit, a rival's and a ratio."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from experiments import lines
from experiments.provenance import ROOT

RESULTS = ROOT / "benchmarks" / "results"


def comparison(
    value: float,
    unit: str,
    *,
    rival: float | None = None,
    better: Literal["lower", "higher"] = "lower",
) -> dict[str, Any]:
    """The metrics of one benchmark line; `ratio` says how many times better than the rival.

    `rival` is what the rival gave in the same unit and the same run. The ratio is rival / value
    where lower is better (seconds, bytes), value / rival where higher is (examples per second).
    """
    if better not in ("lower", "higher"):
        raise ValueError(f"better is 'lower' or 'higher', got {better!r}")
    ratio = None
    if rival is not None:
        ratio = rival / value if better == "lower" else value / rival
    return {"value": value, "unit": unit, "rival": rival, "ratio": ratio}


def append(benchmark: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The line as written to `results/<benchmark>.jsonl`.

    `fields` holds `method` (what was measured), `metrics` (by `comparison`) and where they apply
    `dataset`, `split`, `seed`, `seconds` and `config`.
    """
    if not fields.get("method"):
        raise ValueError(f"a line of the benchmark {benchmark!r} needs 'method': what was measured")
    missing = {"value", "unit", "rival", "ratio"} - set(fields.get("metrics") or ())
    if missing:
        raise ValueError(f"a benchmark's metrics lack {', '.join(sorted(missing))}")
    return lines.append(benchmark, fields, RESULTS)


def read(benchmark: str) -> list[dict[str, Any]]:
    """The newest line of each measurement in `results/<benchmark>.jsonl`, oldest first."""
    return lines.read(benchmark, RESULTS)
