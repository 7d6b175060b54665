"""The WebAssembly runtime: fresh, small, right in Node, and built again from its sources."""

import json
import re
import shutil
import subprocess

import pytest

from scripts import wasm_module
from tests.device import c_targets

FOLDER = wasm_module.FOLDER


def test_the_module_is_of_the_present_sources_and_small():
    assert wasm_module.digest().encode() in wasm_module.MODULE.read_bytes()
    assert wasm_module.MODULE.stat().st_size < 60_000


def test_a_fresh_module_is_not_written_again(monkeypatch):
    monkeypatch.setattr("sys.argv", ["wasm_module.py"])
    before = wasm_module.MODULE.stat()
    assert wasm_module.main() == 0
    assert wasm_module.MODULE.stat() == before


@pytest.fixture(name="node")
def installed_node():
    program = shutil.which("node")
    if program is None:
        pytest.skip("no node on this machine: the WebAssembly tests were skipped")
    return program


def run_tests(node, folder):
    words = [node, "--test", str(folder / "wasm" / "elasticrec-wasm.test.js")]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[-5000:]
    assert int(re.search(r"^[#ℹ] pass (\d+)", ran.stdout, flags=re.M).group(1)) > 30


def test_its_own_tests_pass(node):
    run_tests(node, FOLDER.parent)


@pytest.mark.skipif(not c_targets.has_zig(), reason="needs zig: pip install ziglang")
def test_a_module_that_is_built_here_passes_them_too(node, tmp_path):
    for name in ("js", "wasm", "conformance"):
        ignored = shutil.ignore_patterns("node_modules")
        shutil.copytree(FOLDER.parent / name, tmp_path / name, ignore=ignored)
    made = tmp_path / "wasm" / wasm_module.MODULE.name
    made.unlink()
    wasm_module.build(made)
    again = tmp_path / "again.wasm"
    wasm_module.build(again)
    assert again.read_bytes() == made.read_bytes()
    assert made.stat().st_mode & 0o777 == 0o644
    run_tests(node, tmp_path)


def test_the_package_ships_it():
    package = json.loads((FOLDER.parent / "js" / "package.json").read_text())
    ways = {"types": "./elasticrec-wasm.d.ts", "default": "./elasticrec-wasm.js"}
    assert package["exports"]["./wasm"] == ways
    assert {"elasticrec-wasm.js", "elasticrec-wasm.d.ts", "elasticrec.wasm"} <= {*package["files"]}
    assert "../wasm/elasticrec-wasm.js ../wasm/elasticrec.wasm" in package["scripts"]["copy"]
