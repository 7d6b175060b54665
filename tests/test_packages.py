"""What is published: wheels, source archives and the npm tarball, built and used as installed."""

import functools
import http.server
import json
import os
import shutil
import subprocess
import sys
import tarfile
import threading
import zipfile
from pathlib import Path

import pytest

from tests.packaging import ROOT, Fresh, build, metadata
from tests.test_readme import example

pytest.importorskip("hatchling")
DEMO = ROOT / "examples" / "elasticrec_demo" / "models" / "goodbooks"
TSC = ROOT / "device/js/node_modules/.bin/tsc"
HEAVY = ("torch", "scipy", "polars", "matplotlib", "starlette", "elasticrec_demo")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return build(tmp_path_factory.mktemp("dist"), "wheels")


@pytest.fixture(scope="module")
def bare(built, tmp_path_factory):
    """Where `pip install elasticrec` leads."""
    wheels = built["elasticrec.whl"], built["elasticrec_device.whl"]
    return Fresh(tmp_path_factory.mktemp("bare") / "env", *wheels)


@pytest.fixture(scope="module")
def whole(built, tmp_path_factory):
    """Where `pip install 'elasticrec[demo]'` leads."""
    wheels = [
        built[f"{name}.whl"] for name in ("elasticrec", "elasticrec_device", "elasticrec_demo")
    ]
    extras = ("train", "serve", "plots", "demo")
    return Fresh(tmp_path_factory.mktemp("whole") / "env", *wheels, extras=extras)


def test_the_wheel_is_small_and_the_source_lean(built):
    assert built["elasticrec.whl"].stat().st_size < 500_000
    assert built["elasticrec_demo.whl"].stat().st_size < 4_000_000
    with tarfile.open(built["elasticrec.gz"]) as archive:
        inside = {Path(name).relative_to("elasticrec-0.2.0") for name in archive.getnames()}
    assert {path.parts[0] for path in inside} == {
        *("src", "CHANGELOG.md", "LICENSE", "README.md", "pyproject.toml", "PKG-INFO", ".gitignore")
    }


def test_the_wheel_holds_the_page_whole(built):
    with zipfile.ZipFile(built["elasticrec.whl"]) as archive:
        inside = {name for name in archive.namelist() if "/serve/page/" in name}
    folder = ROOT / "src"
    there = (folder / "elasticrec" / "serve" / "page").iterdir()
    assert {path.relative_to(folder).as_posix() for path in there if path.is_file()} == inside


def test_the_metadata_say_where_the_project_is(built):
    for name in ("elasticrec", "elasticrec_device", "elasticrec_demo"):
        found = metadata(built[f"{name}.whl"])
        assert "Homepage" in str(found.get_all("Project-URL"))
        assert "](docs/" not in found.get_payload()  # links and pictures are whole URLs
        with zipfile.ZipFile(built[f"{name}.whl"]) as archive:
            assert any(path.endswith("licenses/LICENSE") for path in archive.namelist())
        classifiers = found.get_all("Classifier")
        assert {f"Programming Language :: Python :: 3.{n}" for n in range(11, 15)} <= {*classifiers}


def test_the_versions_that_belong_together_agree(built):
    versions = {name: metadata(path)["Version"] for name, path in built.items() if ".whl" in name}
    assert versions["elasticrec.whl"] == versions["elasticrec_demo.whl"]
    package = json.loads((ROOT / "device/js/package.json").read_text())
    assert package["version"] == versions["elasticrec_device.whl"]


def wheel_of(source, folder, **environment):
    """The wheel that pip builds from a source archive or folder."""
    words = ["wheel", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", "-w"]
    command = [sys.executable, "-m", "pip", *words, str(folder), str(source)]
    subprocess.run(command, check=True, env=os.environ | environment)
    (made,) = folder.iterdir()
    return made


def contents(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {each.filename: each.CRC for each in archive.infolist()}


@pytest.mark.parametrize("name", ["elasticrec", "elasticrec_device", "elasticrec_demo"])
def test_a_source_archive_builds_the_same_wheel(built, tmp_path, name):
    again = wheel_of(built[f"{name}.gz"], tmp_path)
    assert contents(again) == contents(built[f"{name}.whl"])


LISTED = "python -m elasticrec_device watch.elastic --history 13 55 126 -k 50 --why"
NATIVE = 'python -c "import elasticrec_device as d; print(d.NATIVE, d.__version__)"'


@pytest.mark.parametrize("compiler", ["gcc", "no-such-compiler"])
def test_the_c_core_gives_the_same_list_with_and_without_a_compiler(
    built, bare, tmp_path, compiler
):
    with_core = shutil.which(compiler) is not None
    if compiler == "gcc" and not with_core:
        pytest.skip("no gcc on this machine: the C core for Python was not built")
    wheel = wheel_of(built["elasticrec_device_native.gz"], tmp_path / "wheel", CC=compiler)
    assert wheel.name.endswith("-none-any.whl") != with_core
    assert ("libelasticrec.so" in contents(wheel)) == with_core
    with zipfile.ZipFile(wheel) as archive:
        assert any(name.endswith("licenses/LICENSE") for name in archive.namelist())
    folder = ROOT / "device" / "python" / "native"
    again = wheel_of(folder, tmp_path / "again", CC=compiler)
    assert contents(again) == contents(wheel)
    installed = Fresh(tmp_path / "env", built["elasticrec_device.whl"], wheel)
    version = metadata(built["elasticrec_device.whl"])["Version"]
    assert metadata(wheel)["Version"] == version
    shutil.copy(DEMO / "stream.elastic", tmp_path / "watch.elastic")
    assert installed.run(NATIVE, tmp_path) == f"{with_core} {version}\n"
    assert bare.run(NATIVE, tmp_path) == f"False {version}\n"
    assert installed.run(LISTED, tmp_path) == bare.run(LISTED, tmp_path)


def test_a_bare_install_ranks_from_a_stream(bare, tmp_path):
    shutil.copy(DEMO / "stream.elastic", tmp_path / "watch.elastic")
    missing = "; ".join(f"assert not find_spec({name!r})" for name in HEAVY)
    bare.run(f'python -c "from importlib.util import find_spec; {missing}"', tmp_path)
    assert "No broken requirements" in bare.pip("check")
    assert "customize" in bare.run("elasticrec --help", tmp_path)
    assert "98 columns, 32 neighbours" in bare.run("elasticrec inspect watch.elastic", tmp_path)
    listed = bare.run("elasticrec recommend watch.elastic --items 13,55,126 -k 5", tmp_path)
    assert len(listed.splitlines()) == 6
    device = bare.run("elasticrec-device watch.elastic --history 13 55 126 -k 5", tmp_path)
    assert [line.split()[1] for line in listed.splitlines()[1:]] == [
        line.split()[2] for line in device.splitlines()
    ]


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        ("elasticrec demo", "demo"),
        ("elasticrec serve --demo", "demo"),
        ("elasticrec data prepare goodbooks -o split.npz", "demo"),
        ("elasticrec fit ratings.csv -o MODEL", "train"),
    ],
)
def test_a_bare_install_says_what_to_install(bare, tmp_path, command, extra):
    (tmp_path / "ratings.csv").write_text("user,item\n" + "1,2\n" * 30)
    said = bare.run(command, tmp_path, code=2)
    assert len(said.strip().splitlines()) == 1
    assert f"pip install 'elasticrec[{extra}]'" in said


@pytest.mark.slow
def test_the_commands_of_the_readme_run_as_installed(whole, tmp_path):
    pytest.importorskip("torch")
    assert "No broken requirements" in whole.pip("check")
    for line in example("", "elasticrec fit").splitlines():
        whole.run(line.partition("  #")[0], tmp_path)
    (tmp_path / "first.py").write_text(
        example("python", "ElasticRecommender").replace('"MODEL"', '"M2"')
    )
    assert len(whole.run("python first.py", tmp_path).splitlines()) == 5
    (tmp_path / "device.py").write_text(example("python", "elasticrec_device"))
    assert len(whole.run("python device.py", tmp_path).splitlines()) == 5


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A static host that logs nothing."""

    def log_message(self, *_):
        pass


@pytest.fixture
def host(tmp_path):
    """The URL of a static host of the packaged model."""
    shutil.copy(DEMO / "stream.elastic", tmp_path / "books.elastic")
    handler = functools.partial(Quiet, directory=tmp_path)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_the_tarball_is_complete_runs_and_has_types(host, tmp_path):
    if shutil.which("npm") is None or not TSC.exists():
        pytest.skip("no npm or no tsc in device/js/node_modules: the tarball was not tested")
    (tarball,) = build(tmp_path / "dist", "tarball").values()
    (tmp_path / "package.json").write_text('{"type": "module"}')
    said(["npm", "install", "--offline", "--no-audit", "--no-fund", str(tarball)], tmp_path)
    package = tmp_path / "node_modules" / "elasticrec-device"
    assert {path.name for path in package.iterdir()} == {
        *("elasticrec-device.js", "elasticrec-device.d.ts", "LICENSE", "README.md", "package.json"),
        *("elasticrec-wasm.js", "elasticrec-wasm.d.ts", "elasticrec.wasm"),
    }
    code = example("js", "fetchStream")
    assert "'https://cdn.example/books.elastic'" in code
    code = code.replace("https://cdn.example", host) + "console.log(items.length);\n"
    (tmp_path / "first.js").write_text(code)
    assert said(["node", "first.js"], tmp_path) == "20\n"
    fast = "import { accelerate } from 'elasticrec-device/wasm';\n" + code
    fast = fast.replace("stream.recommend(", "(await accelerate(stream)).recommend(")
    (tmp_path / "fast.js").write_text(fast)
    assert "await accelerate(stream)" in fast
    assert said(["node", "fast.js"], tmp_path) == "20\n"
    (tmp_path / "typed.ts").write_text(
        "import { fetchStream } from 'elasticrec-device';\n"
        "import { accelerate } from 'elasticrec-device/wasm';\n"
        "const { stream } = await fetchStream('x', { budget: 5 });\n"
        "export const fast = (await accelerate(stream)).similar(7, { k: 2 }).items;\n"
        "export const score: number | undefined = fast[0]?.score;\n"
        "// @ts-expect-error: no stream\n"
        "await accelerate('x');\n"
        "export const number: number = stream.recommend({ history: [1], k: 2 }).unknown;\n"
        "// @ts-expect-error: no such option\n"
        "stream.recommend({ likes: [1] });\n"
    )
    words = ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "typed.ts"]
    said([str(TSC), *words], tmp_path)


def said(words, folder):
    """What a program prints that must succeed."""
    ran = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout
