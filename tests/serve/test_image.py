"""The image of the service: its steps in a plain folder, since nothing here builds an image."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import urllib.request
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import elasticrec
from elasticrec.files import demo_folder
from scripts.pinned import OWN, PYTHON, wanted
from tests.serve.server import Server

ROOT = Path(__file__).resolve().parents[2]
PINNED = re.compile(r"(\S+)==(\S+)((?: --hash=sha256:[0-9a-f]{64})+)")


def steps():
    """Each stage's instructions: a word and the rest of the line."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line[:1] not in ("", "#")]
    starts = [number for number, (word, _) in enumerate(lines) if word == "FROM"]
    return [lines[a:b] for a, b in zip(starts, [*starts[1:], len(lines)], strict=True)]


def needed(names):
    """Names of these distributions and of all that they require, as installed here."""
    found, left = set(), [Requirement(name) for name in names]
    image = {"python_version": PYTHON, "sys_platform": "linux", "extra": ""}
    while left:
        each = left.pop()
        name = canonicalize_name(each.name)
        if name in found or (each.marker and not each.marker.evaluate(image)):
            continue
        found.add(name)
        left += map(Requirement, distribution(name).requires or ())
    return found


@pytest.mark.parametrize("name", ["requirements.txt", "build.txt"])
def test_everything_that_is_installed_is_pinned_by_hash(name):
    text = (ROOT / "deploy" / name).read_text(encoding="utf-8").replace(" \\\n   ", "")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    pinned = {match[1]: match[2] for match in map(PINNED.fullmatch, lines)}
    assert needed(wanted()[name]) <= pinned.keys()
    for requirement in map(Requirement, wanted()[name]):
        assert pinned[canonicalize_name(requirement.name)] in requirement.specifier
    constrained = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    for own, version in (line.split("==") for line in constrained if "==" in line):
        assert pinned.get(own, version) == version


def test_the_image_installs_nothing_without_a_hash():
    build, final = steps()
    installs = [part for word, text in build if word == "RUN" for part in text.split(" && ")]
    for words in (shlex.split(each) for each in installs if "/pip " in each):
        assert {"--require-hashes", "--no-index"} & set(words), words
        assert "--require-hashes" in words or "--no-deps" in words, words
    assert "pip" not in "".join(text for _, text in final)
    assert ["USER", "elasticrec"] in final
    assert {word for word, _ in final} >= {"HEALTHCHECK", "STOPSIGNAL", "ENTRYPOINT", "CMD"}
    listed = (ROOT / "deploy" / "requirements.txt").read_text(encoding="utf-8")
    assert not re.search(r"^(pip|setuptools|hatchling|torch|cryptography)==", listed, re.M)
    assert OWN[0] not in listed


@pytest.mark.slow
def test_its_steps_make_a_service_that_is_healthy(tmp_path):
    python = shutil.which(f"python{PYTHON}")
    if python is None or subprocess.run([python, "-V"], check=False).returncode:
        pytest.skip(f"no Python {PYTHON} on this machine, which the image has")
    build, venv = tmp_path / "build", tmp_path / "venv"
    build.mkdir()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(python)
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL"))}
    clean["PATH"] = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    for word, text in steps()[0]:
        if word == "COPY":
            *sources, target = text.split()
            for source in sources:
                to = build / target / (Path(source).name if target == "./" else "")
                if (ROOT / source).is_dir():
                    shutil.copytree(ROOT / source, to)
                else:
                    shutil.copy(ROOT / source, to)
        elif word == "RUN":
            command = text.replace("/venv", str(venv))
            ran = subprocess.run(
                command,
                shell=True,
                cwd=build,
                env=clean,
                capture_output=True,
                text=True,
                check=False,
            )
            if re.search("NewConnectionError|No matching distribution", ran.stderr):
                pytest.skip("no package index can be reached from here")
            assert ran.returncode == 0, ran.stdout + ran.stderr
    final = dict(steps()[1])
    *_, at, port = json.loads(final["CMD"])
    assert at == "--port"
    command = json.loads(final["CMD"])[:-2]
    command[command.index("/models")] = str(demo_folder() / "models")
    server = Server(log=tmp_path / "log")
    server._command = [str(venv / "bin" / "elasticrec"), *command, "--port", str(server.port)]
    check = json.loads(final["HEALTHCHECK"].partition("CMD ")[2])
    with server:
        with urllib.request.urlopen(f"{server.url}/models/goodbooks/stream.elastic") as answer:
            assert answer.read(8) == b"\x89ELASTIC"
        words = [word.replace(f":{port}/", f":{server.port}/") for word in check]
        words[0] = str(venv / "bin" / words[0])
        subprocess.run(words, check=True)
        assert server.stop() in (0, -15)
    assert not list(venv.glob("lib/python*/site-packages/pip"))


def test_the_parts_list_names_what_the_image_installs(tmp_path):
    validation = pytest.importorskip("cyclonedx.validation.json")
    schema = pytest.importorskip("cyclonedx.schema")
    for name in ("first", "second"):
        words = [sys.executable, "scripts/sbom.py", str(tmp_path / name)]
        subprocess.run(words, cwd=ROOT, check=True)
    text = (tmp_path / "first").read_text()
    assert text == (tmp_path / "second").read_text()
    validator = validation.JsonStrictValidator(schema.SchemaVersion.V1_6)
    assert validator.validate_str(text) is None
    found = json.loads(text)
    listed = {f"{each['name']}=={each['version']}": each for each in found["components"]}
    pinned = (ROOT / "deploy" / "requirements.txt").read_text(encoding="utf-8")
    assert listed.keys() == set(re.findall(r"^(\S+==\S+)", pinned, re.M))
    for name, each in listed.items():
        assert each["purl"] == f"pkg:pypi/{name.replace('==', '@')}"
        (source,) = each["externalReferences"]
        assert all(one["content"] in pinned for one in source["hashes"])
    assert found["metadata"]["component"]["version"] == elasticrec.__version__
