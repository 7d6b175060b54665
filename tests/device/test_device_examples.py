"""The same ten lines in each language print the same."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.device import c_runtime, test_android

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "device" / "examples"
STREAM = ROOT / "examples" / "elasticrec_demo" / "models" / "goodbooks" / "stream.elastic"
LIKED = ["13", "55", "126"]


def said(words):
    ran = subprocess.run([*words, str(STREAM), *LIKED], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.fixture(scope="module", name="expected")
def of_python():
    lines = said([sys.executable, str(FOLDER / "recommend.py")])
    assert len(lines.splitlines()) == 10
    assert "because of" in lines
    return lines


def test_every_example_is_in_the_list():
    files = {path.name for path in FOLDER.iterdir()} - {"README.md"}
    page = (FOLDER / "README.md").read_text()
    names = ("recommend.c", "recommend.py", "recommend.js", "recommend-wasm.js", "Recommend.java")
    assert files == {*names}
    assert all(f"[{name}]({name})" in page for name in files)


def test_c(expected, tmp_path):
    compiler = shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler on this machine")
    made = tmp_path / "recommend"
    words = [*c_runtime.STRICT, f"-I{c_runtime.FOLDER}", str(FOLDER / "recommend.c"), "-o", made]
    subprocess.run([compiler, *words], check=True)
    assert said([str(made)]) == expected
    ran = subprocess.run([str(made), "none", *LIKED], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (2, "file: found 0, expected 1\n")


def test_java(expected, tmp_path):
    if test_android.headers() is None or shutil.which("gcc") is None:
        pytest.skip("no JDK or no C compiler on this machine")
    test_android.compiled(tmp_path, FOLDER / "Recommend.java")
    words = ["java", f"-Djava.library.path={tmp_path}", "-cp", str(tmp_path), "Recommend"]
    assert said(words) == expected


@pytest.mark.parametrize("name", ["recommend.js", "recommend-wasm.js"])
def test_javascript(expected, name):
    if shutil.which("node") is None:
        pytest.skip("no node on this machine")
    assert said(["node", str(FOLDER / name)]) == expected
