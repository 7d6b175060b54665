"""The same ten lines in each language print the same."""

import functools
import http.server
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.device import c_runtime, java_runtime
from tests.serve.browsing import OPTIONS, chromium

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
    assert files == {
        *("recommend.c", "recommend.py", "recommend.js", "recommend-wasm.js", "recommend.html"),
        *("Recommend.java", "Recommend.swift"),
    }
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


def readme_code(room, language):
    """The first program of a runtime's page."""
    page = (ROOT / "device" / room / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", page, flags=re.DOTALL)


def test_the_program_of_the_c_page(expected, tmp_path):
    compiler = shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler on this machine")
    (tmp_path / "demo.c").write_text(readme_code("c", "c")[0])
    shutil.copy(c_runtime.FOLDER / "elasticrec.h", tmp_path)
    words = [compiler, *c_runtime.STRICT, "-O2", "demo.c", "-o", "demo"]
    subprocess.run(words, cwd=tmp_path, check=True)
    with STREAM.open("rb") as stream:
        ran = subprocess.run([tmp_path / "demo"], stdin=stream, capture_output=True, check=True)
    without_why = [" ".join(line.split()[:2]) for line in expected.splitlines()]
    assert ran.stdout.decode().splitlines() == without_why
    empty = subprocess.run([tmp_path / "demo"], input=b"", capture_output=True, check=False)
    assert (empty.returncode, empty.stderr.decode()[:5]) == (1, "bytes")


def test_the_program_of_the_javascript_page(expected, tmp_path):
    if shutil.which("node") is None:
        pytest.skip("no node on this machine")
    (tmp_path / "demo.mjs").write_text(readme_code("js", "js")[1])
    shutil.copy(ROOT / "device" / "js" / "elasticrec-device.js", tmp_path)
    shutil.copy(STREAM, tmp_path / "books.elastic")
    words = ["node", "demo.mjs"]
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == [" ".join(x.split()[:2]) for x in expected.splitlines()]


def test_the_program_of_the_python_page(expected, tmp_path):
    (tmp_path / "demo.py").write_text(readme_code("python", "python")[0])
    shutil.copy(STREAM, tmp_path / "watch.elastic")
    words = [sys.executable, "demo.py"]
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == [" ".join(x.split()[:2]) for x in expected.splitlines()[:5]]


def test_java(expected, tmp_path):
    if not java_runtime.can_run():
        pytest.skip("no JDK or no C compiler on this machine")
    java_runtime.compiled(tmp_path, FOLDER / "Recommend.java")
    words = ["java", f"-Djava.library.path={tmp_path}", "-cp", str(tmp_path), "Recommend"]
    assert said(words) == expected


@pytest.mark.parametrize("name", ["recommend.js", "recommend-wasm.js"])
def test_javascript(expected, name):
    if shutil.which("node") is None:
        pytest.skip("no node on this machine")
    assert said(["node", str(FOLDER / name)]) == expected


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A static host that logs nothing."""

    def log_message(self, *_):
        pass


@pytest.fixture(name="host")
def static_host():
    """The URL of a static host of the repository."""
    handler = functools.partial(Quiet, directory=ROOT)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_browser(expected, host):
    path = chromium()
    api = pytest.importorskip("playwright.sync_api", reason="no playwright in this environment")
    stream = f"/{STREAM.relative_to(ROOT).as_posix()}"
    asked = "&".join((f"stream={stream}", *(f"like={each}" for each in LIKED)))
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=OPTIONS)
        page = browser.new_page()
        page.goto(f"{host}/device/examples/recommend.html?{asked}")
        page.locator("pre", has_text="because of").wait_for()
        assert page.locator("pre").text_content() == expected
        browser.close()


PACKAGE = """// swift-tools-version:5.7
import PackageDescription

let package = Package(
  name: "Recommend",
  dependencies: [.package(path: "FOLDER")],
  targets: [
    .executableTarget(
      name: "Recommend", dependencies: [.product(name: "Elasticrec", package: "swift")])
  ]
)
"""


def test_swift(expected, tmp_path):
    if shutil.which("swift") is None:
        pytest.skip("no Swift compiler here: the Swift example was not compiled")
    main = tmp_path / "Sources" / "Recommend" / "main.swift"
    main.parent.mkdir(parents=True)
    shutil.copy(FOLDER / "Recommend.swift", main)
    (tmp_path / "Package.swift").write_text(PACKAGE.replace("FOLDER", str(ROOT / "device/swift")))
    subprocess.run(["swift", "build", "--package-path", str(tmp_path)], check=True)
    assert said([str(tmp_path / ".build" / "debug" / "Recommend")]) == expected
