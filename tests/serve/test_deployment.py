"""Pages and examples for those who run the service say what it does."""

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from elasticrec.cli.main import app, load_command
from elasticrec.serve.app import BUDGET
from elasticrec.serve.metrics import Metrics
from elasticrec.serve.problems import KINDS
from elasticrec.serve.tokens import Keys

ROOT = Path(__file__).resolve().parents[2]


def options_of(command):
    found = load_command(command)
    return {name for each in found.params for name in (*each.opts, *each.secondary_opts)}


def run(*words, **environment):
    return CliRunner().invoke(app, list(words), env=environment)


def test_the_api_page_names_every_route_and_every_problem(client):
    page = (ROOT / "docs" / "http-api.md").read_text(encoding="utf-8")
    for path in client.get("/openapi.json").json()["paths"]:
        assert f"`GET {path.replace('{user}', '{id}')}" in page
    listed = re.findall(r"^\| `([a-z-]+)` \| (\d+) \|", page, flags=re.MULTILINE)
    assert dict(listed) == {kind: str(status) for kind, (status, _) in KINDS.items()}
    assert re.fullmatch(BUDGET, "1.5MB")


def test_the_dashboard_asks_for_metrics_that_exist(client):
    known = set(re.findall(r"# TYPE (\S+)", client.get("/metrics").text))
    dashboard = (ROOT / "deploy" / "grafana.json").read_text(encoding="utf-8")
    asked = set(re.findall(r"elasticrec_[a-z_]+", dashboard))
    assert {name.removesuffix("_bucket") for name in asked} <= known
    assert len(json.loads(dashboard)["panels"]) == 15
    page = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    assert set(re.findall(r"elasticrec_[a-z_]+", page)) <= known
    assert len(Metrics().families) < len(known)


def test_the_unit_starts_what_there_is():
    unit = (ROOT / "deploy" / "elasticrec.service").read_text(encoding="utf-8")
    program, command, *words = shlex.split(re.search(r"^ExecStart=(.+)$", unit, re.M)[1])
    assert program.endswith("/elasticrec")
    assert {word for word in words if word.startswith("--")} <= options_of(command)


def test_so_does_the_image():
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    command, *words = json.loads(re.search(r"^CMD (.+)$", lines, re.M)[1])
    assert {word for word in words if word.startswith("--")} <= options_of(command)
    assert re.search(r"^USER elasticrec$", lines, re.M)
    for name in re.search(r"^COPY (pyproject.+) \./$", lines, re.M)[1].split():
        assert (ROOT / name).exists()


def test_tokens_from_the_command_line_open_vectors(client, tmp_path):
    made = run("token", "books", "u3", "--expires", "5m", "--keys", str(tmp_path / "keys.txt"))
    assert made.exit_code == 0
    headers = {"authorization": f"Bearer {made.stdout.strip()}"}
    assert client.get("/v1/models/books/users/u3/vector", headers).status_code == 200
    assert client.get("/v1/models/books/users/u4/vector", headers).status_code == 403


def test_a_new_key_is_a_key(tmp_path):
    line = run("token", "--new-key").stdout
    Keys.parse(line, "it").sign("books", "u1", 60)
    made = run("token", "books", "u1", ELASTICREC_TOKEN_KEYS=line.strip())
    assert made.exit_code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["token", "books", "u1"], "no key to sign with"),
        (["token", "books", "u1", "--expires", "soon"], "expected a number with its unit"),
        (["serve"], "no model folder was given"),
        (["serve", "nothing"], "is no model folder and holds none"),
        (["serve", "nothing", "--shelf-size", "1KB"], "shelf_bytes is 1000"),
        (["serve", "nothing", "--step", "x"], "'x' is no budget"),
        (["serve", "nothing", "--ids", "odd"], "expected 'none' or 'original'"),
        (["serve", "nothing", "--rounds", "0"], "rounds must be positive"),
    ],
)
def test_bad_input_is_one_line(words, said):
    ended = run(*words, ELASTICREC_TOKEN_KEYS="")
    assert ended.exit_code == 2
    assert said in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_a_port_in_use_is_said_before_anything_is_loaded(made_models, tmp_path):
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        ended = run("serve", str(made_models), "--shelf", str(tmp_path / "s"), "--port", port)
    assert ended.exit_code == 2
    assert "cannot listen on 127.0.0.1" in ended.stderr
