"""The JavaScript runtime: its own tests, its types, its package, its size and its independence."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from benchmarks.crafted import in_javascript
from tests.device import crafted

FOLDER = Path(__file__).resolve().parents[2] / "device" / "js"
RUNTIME = FOLDER / "elasticrec-device.js"
GOLDEN = FOLDER.parent / "conformance"
TSC = FOLDER / "node_modules" / ".bin" / "tsc"
OLDEST_NODE = 20

PACKAGE = json.loads((FOLDER / "package.json").read_text())


@pytest.fixture(scope="module", name="node")
def installed_node():
    """The program `node`, new enough."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("no node on this machine: the JavaScript tests were skipped")
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    if int(version.stdout.strip().removeprefix("v").split(".")[0]) < OLDEST_NODE:
        pytest.skip(f"node {version.stdout.strip()} is too old: the JavaScript tests were skipped")
    return program


def run(words):
    done = subprocess.run(words, cwd=FOLDER, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-10_000:]
    return done.stdout


def test_its_own_tests_pass(node):
    files = PACKAGE["scripts"]["test"].split()[2:]
    assert sorted(files) == sorted(
        str(path.relative_to(FOLDER))
        for path in FOLDER.rglob("*.test.js")
        if "node_modules" not in path.parts
    )
    said = run([node, "--test", *files])
    assert int(re.search(r"^[#ℹ] pass (\d+)", said, flags=re.MULTILINE).group(1)) > len(files)


def test_its_types_hold_and_are_shipped(node, tmp_path):
    if not TSC.exists():
        pytest.skip("no tsc in device/js/node_modules: the types of JavaScript were not checked")
    for path in (RUNTIME, FOLDER.parent / "wasm" / "elasticrec-wasm.js"):
        shutil.copy(path, tmp_path)
    scripts = PACKAGE["scripts"]
    assert scripts["check"] == "npm run copy && npm run tsc -- --noEmit"
    copy, _, made = scripts["prepack"].partition(" && npm run tsc -- ")
    assert copy == "npm run copy"
    words = [node, str(TSC), *scripts["tsc"].split()[1:], *made.split()]
    subprocess.run(words, cwd=tmp_path, check=True)
    declared = {path.name: path.read_text() for path in tmp_path.glob("*.d.ts")}
    assert "export function fetchStream(url" in declared.pop("elasticrec-device.d.ts")
    assert "export function accelerate(stream" in declared.pop("elasticrec-wasm.d.ts")
    assert not declared


def test_it_is_one_short_file_that_imports_nothing():
    lines = RUNTIME.read_text().splitlines()
    assert len(lines) < 650
    assert max(map(len, lines)) <= 100
    source = "\n".join(lines)
    assert not re.search(r"^\s*import\b|\bimport\(|\brequire\(", source, flags=re.MULTILINE)


def test_only_fetching_a_stream_opens_a_connection():
    before, fetching = RUNTIME.read_text().split("export async function fetchStream(")
    asks = r"\bfetch\(|XMLHttp|sendBeacon|WebSocket"
    assert not re.search(asks, before)
    assert len(re.findall(asks, fetching)) == 1


def test_its_package_depends_on_nothing():
    assert "dependencies" not in PACKAGE
    assert list(PACKAGE["devDependencies"]) == ["typescript"]


def test_its_package_holds_module_types_and_licence():
    assert PACKAGE["files"] == [
        "elasticrec-device.js",
        "elasticrec-device.d.ts",
        "elasticrec-wasm.js",
        "elasticrec-wasm.d.ts",
        "elasticrec.wasm",
        "LICENSE",
    ]
    assert PACKAGE["exports"]["."]["default"] == f"./{RUNTIME.name}"
    assert PACKAGE["exports"]["."]["types"] == "./elasticrec-device.d.ts"


def test_the_benchmark_prints_what_it_measured(node):
    golden = GOLDEN / "dense.elastic"
    measured = json.loads(run([node, "bench.js", str(golden), "--people", "3", "--history", "2"]))
    assert measured["bytes"] == golden.stat().st_size
    assert measured["items"] == 150
    times = {"open_ms", "first_list_ms", "top20_ms", "full_sort_ms", "rss_bytes"}
    assert all(measured[name] > 0 for name in times)


@pytest.mark.slow
@pytest.mark.parametrize("make", crafted.CRAFTED)
def test_a_crafted_stream_costs_little_more_than_an_ordinary_one(node, tmp_path, make):
    assert node
    bad = make()
    peer = crafted.ordinary(bad)
    wall, _, memory = in_javascript(tmp_path, bad, crafted.likes(bad), b"", 3)
    expected, _, ordinary = in_javascript(tmp_path, peer, crafted.likes(peer), b"", 3)
    assert memory < 2 * ordinary
    assert wall < 4 * expected  # at most 2; what else runs on the machine may change that
