"""Milliseconds and bytes of crafted streams, each against an ordinary one of as many bytes.

    python -m benchmarks.crafted [--rounds 3] [FILE ...]

Each crafted stream breaks no rule and is made to cost much (`tests/device/crafted.py`). A runtime
opens it and asks for the 100 best by 45 liked items, Python and JavaScript once more; then it does
the same with the ordinary stream. Times are the fastest, of the processor; bytes are those of the
file and of all that the runtime keeps beside it. `question` is a further one alone, in a stream
that is open. `withdrawn_list` is an ordinary stream and a list of all its items.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import elasticrec_device
from benchmarks.lines import append, comparison
from experiments.provenance import ROOT
from tests.device import c_runtime, crafted

TOP = 100
"""Items that are listed."""
Cost = tuple[float, float, float]
"""Milliseconds of opening and asking, of one question alone, and bytes."""
JAVASCRIPT = """
import { readFileSync } from 'node:fs';
const [, runtime, path, list, rounds, likes, kind] = process.argv;
const { openStream } = await import(runtime), turn = { text: String, u64: BigInt }[kind] ?? Number;
const bytes = new Uint8Array(readFileSync(path)), ask = { k: 100, why: true };
const gone = list && new Uint8Array(readFileSync(list)), took = [[], []];
ask.history = JSON.parse(likes).map(turn);
const used = async () => {
  for (let turn = 0; turn < 3; turn++) { // freed buffers are counted a little later
    global.gc();
    await new Promise((done) => setTimeout(done, 50));
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
};
const before = await used();
let stream;
for (let round = 0; round < Number(rounds); round++) {
  const start = process.cpuUsage().user;
  stream = openStream(bytes);
  if (gone) await stream.withdraw(gone);
  stream.recommend(ask);
  stream.recommend(ask);
  const end = process.cpuUsage().user;
  stream.recommend(ask);
  [end - start, process.cpuUsage().user - end].forEach((each, i) => took[i].push(each / 1000));
}
const most = bytes.length + await used() - before; // while the stream is open
console.log(JSON.stringify([...took.map((each) => Math.min(...each)), most, stream.info().items]));
"""


def in_c(driver: Path, data: bytes, likes: list[Any], gone: bytes, rounds: int) -> Cost:
    """What the C runtime takes."""
    device = c_runtime.Device([str(driver)])
    stream = device.open(data)
    withdrawing = float(device.ask(f"withdraw {gone.hex()}")[0]) if gone else 0.0
    stream.recommend(likes, k=TOP)
    ids = stream.list_of(likes)
    opening = min(float(device.ask(f"cycle 1 {TOP} {ids}")[0]) for _ in range(rounds))
    question = min(map(float, device.ask(f"speed {3 * rounds} {TOP} {ids}")))
    beside = stream.stream_bytes + max(stream.work_bytes, stream.question_bytes)
    device.close()
    return opening + withdrawing, question, len(data) + beside


def in_python(data: bytes, likes: list[Any], gone: bytes, rounds: int) -> Cost:
    """What the Python runtime takes."""

    def use() -> tuple[float, float]:
        start = time.process_time()
        with elasticrec_device.open(data) as stream:
            if gone:
                stream.withdraw(gone)
            stream.recommend(likes)
            stream.recommend(likes, k=TOP, why=True)
            end = time.process_time()
            stream.recommend(likes, k=TOP, why=True)
        return (end - start) * 1e3, (time.process_time() - end) * 1e3

    took = [use() for _ in range(rounds)]
    tracemalloc.start()
    use()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return min(took)[0], min(each for _, each in took), len(data) + most


def in_javascript(folder: Path, data: bytes, likes: list[Any], gone: bytes, rounds: int) -> Cost:
    """What the JavaScript runtime takes in Node."""
    (folder / "it.elastic").write_bytes(data)
    (folder / "it.withdrawn").write_bytes(gone)
    with elasticrec_device.open(data) as stream:
        kind = stream.info()["ids"]
    runtime = (ROOT / "device" / "js" / "elasticrec-device.js").as_uri()
    words = ["node", "--expose-gc", "--input-type=module", "-e", JAVASCRIPT, runtime]
    words += [str(folder / "it.elastic"), str(folder / "it.withdrawn") if gone else "", str(rounds)]
    words += [json.dumps([str(each) for each in likes]), kind]
    said = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
    opening, question, n_bytes, _ = json.loads(said)
    return opening, question, n_bytes


def pairs(name: str) -> tuple[bytes, bytes, bytes]:
    """A crafted stream, the items that are withdrawn from it, and an ordinary stream."""
    if name == "withdrawn_list":
        data, gone = crafted.withdrawn_list()
        return data, gone, data
    bad = getattr(crafted, name)()
    return bad, b"", crafted.ordinary(bad)


def main() -> int:
    """0 when every crafted file takes at most twice the time and memory of an ordinary one."""
    names = [*(each.__name__ for each in crafted.CRAFTED), "withdrawn_list"]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("files", nargs="*", choices=[[], *names], metavar="FILE")
    args = parser.parse_args()
    compiler = shutil.which("gcc") or shutil.which("clang")
    missed = []
    with TemporaryDirectory() as kept:
        folder = Path(kept)
        ways: dict[str, Callable[..., Cost]] = {"python": in_python}
        if compiler:
            driver = c_runtime.build([compiler], folder / "driver")
            ways["c"] = lambda *given: in_c(driver, *given)
        if shutil.which("node"):
            ways["javascript"] = lambda *given: in_javascript(folder, *given)
        for name in args.files or names:
            bad, gone, peer = pairs(name)
            for way, cost in ways.items():
                wall, question, memory = cost(bad, crafted.likes(bad), gone, args.rounds)
                other, least, ordinary = cost(peer, crafted.likes(peer), b"", args.rounds)
                metrics = comparison(wall, "ms", rival=other)
                metrics |= {"question": question, "rival_question": least}
                metrics |= {"bytes": memory, "rival_bytes": ordinary}
                fields = {"method": f"{way}: {name}", "file_bytes": len(bad), "metrics": metrics}
                append("crafted", {**fields, "config": {"top": TOP}})
                said = f"{wall:.0f} of {other:.0f} ms, question {question:.1f} of {least:.1f} ms"
                print(f"{way}: {name}: {said}, {memory / 1e6:.1f} of {ordinary / 1e6:.1f} MB")
                if wall > 2 * other or memory > 2 * ordinary:
                    missed.append(f"{way}: {name}")
    print("\n".join(f"not reached: {each}" for each in missed))
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
