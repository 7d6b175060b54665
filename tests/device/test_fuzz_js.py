"""Damaged bundles against the JavaScript runtime: opened correctly or refused, by the page."""

import json
import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

from benchmarks.fuzz import SEEDS, seeds
from tests.bundle.reference import Reference
from tests.bundle.reference_file import RefusedError
from tests.device.mutations import mutated

RUNTIME = Path(__file__).resolve().parents[2] / "device" / "js" / "elasticrec-device.js"
MUTATIONS, COMPARE_EVERY = 1000, 5

DRIVER = """
import fs from 'node:fs';
const { readBundle, BundleError } = await import(process.argv[1]);
const all = fs.readFileSync(0), view = new DataView(new ArrayBuffer(4));
const bits = (score) => { view.setFloat32(0, score); return view.getUint32(0); };
const plain = ({ items }) => items.map(({ id, score }) => [String(id), bits(score)]);
for (let at = 0; at < all.length;) {
  const stop = at + 4 + all.readUInt32LE(at), file = new Uint8Array(all.subarray(at + 4, stop));
  let said = 'refused', lists = [];
  try {
    const bundle = readBundle(file), first = bundle.recommend({ k: 5 });
    const history = first.items.slice(0, 2).map(({ id }) => id);
    const second = bundle.recommend({ history, k: 5, why: true });
    bundle.recommend({ history: ['nobody', 1] });
    if (history.length) bundle.similar(history[0], 5);
    [said, lists] = ['opened', [plain(first), plain(second)]];
  } catch (error) {
    if (!(error instanceof BundleError)) said = String(error.stack);
  }
  console.log(JSON.stringify([said, lists]));
  at = stop;
}
"""


def expected(file, compare):
    """The slow reader's verdict and, if asked for, its answers."""
    try:
        reader = Reference(file)
    except RefusedError:
        return "refused", None
    if not compare:
        return "opened", None
    first = reader.recommend(k=5)
    second = reader.recommend(first[0][:2], k=5)
    bits = [
        [struct.unpack("<I", struct.pack("<f", s))[0] for s in each[1]] for each in (first, second)
    ]
    pairs = zip((first, second), bits, strict=True)
    return "opened", [[list(pair) for pair in zip(one[0], b, strict=True)] for one, b in pairs]


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
def test_damaged_bundles_are_opened_correctly_or_refused():
    golden, files = dict(seeds()), []
    for number in range(MUTATIONS):
        rng = np.random.default_rng([2, number])
        files.append(bytes(mutated(golden[SEEDS[int(rng.integers(len(SEEDS)))]], rng)))
    ran = subprocess.run(
        ["node", "--input-type=module", "-e", DRIVER, RUNTIME.as_uri()],
        input=b"".join(struct.pack("<I", len(file)) + file for file in files),
        capture_output=True,
        check=True,
        timeout=120,
    )
    said = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(said) == MUTATIONS
    for number, (file, (verdict, lists)) in enumerate(zip(files, said, strict=True)):
        sound, answers = expected(file, number % COMPARE_EVERY == 0)
        assert verdict == sound, f"mutation {number}"
        assert answers in (None, lists), f"mutation {number}"
