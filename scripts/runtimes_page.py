"""Writes docs/runtimes.md from the golden files and benchmark lines; `--check` fails if stale."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import lines  # noqa: E402
from experiments import tables  # noqa: E402
from scripts.pages import keep  # noqa: E402

SIZES = (54.6, 273.0)
"""Bytes per item: 5 and 25 MB of 91,599 items."""
WAYS = {"c": "C", "python": "Python", "javascript": "JavaScript"}
"""Runtimes that crafted files were given, and how they are named."""
PAGE = """# Runtimes

Written by `make docs` from the shared files of [conformance](../device/conformance/README.md) and
[hostile](../device/hostile/README.md), and from the lines of
[`benchmarks.c_runtime`](../benchmarks/README.md).

All runtimes are written from [the format](stream-format.md) and give the same lists and scores, to
the last digit. The tests ask each one every golden question, also while a stream grows, and give it
the hostile files; those that are about keys are a stream without a signature, one by another key,
one changed or mixed after signing, and an older one.

{runtimes}
Milliseconds of a question on one core: 91,599 items of 128 dimensions, votes of 45 liked items, the
100 best. The machine was shared; the C runtime and Python were asked in turns, and so were
WebAssembly and JavaScript. Memory is what is taken beside the mapped file at 25 MB, a question
included; of it 4 bytes per item are 0.4 MB. Plain C and SIMD are one header: what a processor lacks
is not used. The C runtime reads no catalogue, which is JSON, and refuses an id that occurs twice
when that id is asked for. The WebAssembly runtime takes streams that the JavaScript one has opened.
No Swift compiler was at hand: the Swift class was never compiled. Its C part is, by a test.

## Crafted files

Streams of 5 MB that break no rule and are made to cost much: the time to open them and list once
(Python and JavaScript twice), and the memory of file and reader, each as many times what an
ordinary stream of as many bytes takes, by [`benchmarks.crafted`](../benchmarks/README.md).
`question` is a further list alone, in milliseconds, with that of the ordinary stream in brackets.

{crafted}
Where all slots vote (`one_neighbour`, `liked_neighbours`, `many_levels`: 2 million votes in 5 MB)
each vote is added: in C in less than a nanosecond. Where text ids are `alike_ids`, a question
compares all their bytes, and an ordinary one few.

## The C runtime on other machines

Bytes of code as zig builds it with `-Os`, without a warning. `make test-slow` plays the machines in
the last column with `qemu-user`: golden and hostile files, large streams, rounding of roots. The
others are built, and were not run.

{targets}"""


def newest(method: str, **named: Any) -> dict[str, Any]:
    """The metrics of the newest line of a method."""
    found = [
        line
        for line in lines.read("c-runtime")
        if line["method"] == method and all(line.get(key) == named[key] for key in named)
    ]
    return dict(found[-1]["metrics"])


def runtimes(questions: int) -> str:
    """Every runtime, one to a row."""
    expected = json.loads((ROOT / "device" / "hostile" / "expected.json").read_text("utf-8"))
    cases = expected["cases"]
    no_catalogue = sum(case["kind"] != "catalogue" for case in cases)
    code = f"{newest('size on Linux x86_64')['value'] / 1000:.0f} KB"
    module = (ROOT / "device" / "wasm" / "elasticrec.wasm").stat().st_size
    ways = {
        "C, SIMD": ("simd", "value", no_catalogue, "memory", code),
        "C, plain": ("plain", "value", no_catalogue, "memory", code),
        "WebAssembly in Node": ("webassembly", "value", 0, "", f"{module / 1000:.0f} KB"),
        "JavaScript in Node": (
            *("webassembly", "rival", len(cases), "memory of javascript"),
            source("js/elasticrec-device.js"),
        ),
        "Python with the C core": (
            *("core", "value", len(cases), "memory of core"),
            f"{code} beside the source",
        ),
        "Python": (
            *("plain", "rival", len(cases), "memory of python"),
            source("python/elasticrec_device.py"),
        ),
    }
    rows = []
    asked = f"{questions} of {questions}"
    for name, (method, field, refused, kept, size) in ways.items():
        walls = [f"{newest(method, bytes_per_item=each)[field]:.1f}" for each in SIZES]
        own = "as C, and the file"
        if kept:
            own = f"{newest(kept, bytes_per_item=SIZES[1])['value'] / 1e6:.1f} MB"
        share = f"{refused} of {len(cases)}" if refused else "as JavaScript"
        rows.append([name, asked, share, *walls, own, size])
    shim = "as C, and a shim"
    rows.append(["Java over C", asked, f"{no_catalogue} of {len(cases)}", *["as C"] * 3, shim])
    rows.append(["Swift over C", "never compiled", *["–"] * 5])
    heads = ["runtime", "golden questions", "hostile files", "5 MB, ms", "25 MB, ms"]
    return tables.table([*heads, "memory", "code"], rows)


def crafted() -> str:
    """Every crafted file, one to a row."""
    found = {line["method"]: line["metrics"] for line in lines.read("crafted")}
    names = list(dict.fromkeys(method.partition(": ")[2] for method in found))
    rows = []
    for name in names:
        row = [f"`{name}`"]
        for way in WAYS:
            one = found[f"{way}: {name}"]
            row += [
                f"{one['value'] / one['rival']:.1f}",
                f"{one['bytes'] / one['rival_bytes']:.1f}",
            ]
            row.append(f"{one['question']:.1f} ({one['rival_question']:.1f})")
        rows.append(row)
    heads = [f"{way} {what}" for way in WAYS.values() for what in ("time", "memory", "question")]
    return tables.table(["file", *heads], rows)


def source(name: str) -> str:
    """The size of a runtime that is not compiled."""
    return f"{(ROOT / 'device' / name).stat().st_size / 1000:.0f} KB of source"


def targets() -> str:
    """The C runtime's code by target."""
    from tests.device.c_targets import TARGETS

    rows = [
        [each.name, f"{newest('size on ' + each.name)['value']:,}", each.runner or "–"]
        for each in TARGETS
    ]
    return tables.table(["machine", "bytes of code", "played by"], rows)


def page() -> str:
    """The page."""
    golden = json.loads((ROOT / "device" / "conformance" / "expected.json").read_text("utf-8"))
    return PAGE.format(
        runtimes=runtimes(len(golden["questions"])),
        crafted=crafted(),
        targets=targets(),
    )


def main() -> int:
    """0 when the page was written or, with `--check`, is up to date."""
    return keep(ROOT / "docs" / "runtimes.md", page)


if __name__ == "__main__":
    sys.exit(main())
