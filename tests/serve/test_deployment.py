"""Pages and examples for those who run the service say what it does."""

import json
import re
import shlex
import shutil
import socket
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from elasticrec.cli.main import app, load_command
from elasticrec.serve import page
from elasticrec.serve.middleware import KINDS
from elasticrec.serve.tokens import Keys

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
API = (ROOT / "docs" / "http-api.md").read_text(encoding="utf-8")


def options_of(command):
    found = load_command(command)
    return {name for each in found.params for name in (*each.opts, *each.secondary_opts)}


def run(*words, **environment):
    return CliRunner().invoke(app, list(map(str, words)), env=environment)


def test_the_api_page_names_every_route_and_every_problem(client):
    for path in client.get("/openapi.json").json()["paths"]:
        assert f"`GET {path}" in API
    listed = re.findall(r"^\| `([a-z-]+)` \| (\d+) \|", API, flags=re.MULTILINE)
    assert dict(listed) == {kind: str(status) for kind, (status, _) in KINDS.items()}


def test_the_api_page_shows_the_facts_of_a_model(client):
    shown = json.loads(re.search(r"```json\n(\{\"format\".*?)```", API, re.DOTALL)[1])
    assert shown["models"][0].keys() == client.get("/models").json()["models"][0].keys()


def test_the_dashboard_and_the_alerts_ask_for_metrics_that_exist(client):
    known = set(re.findall(r"# TYPE (\S+)", client.get("/metrics").text))
    dashboard = (ROOT / "deploy" / "grafana.json").read_text(encoding="utf-8")
    asked = set(re.findall(r"elasticrec_[a-z_]+", dashboard))
    assert {name.removesuffix("_bucket") for name in asked} <= known
    assert len(json.loads(dashboard)["panels"]) == 10
    watching = DEPLOY.partition("### Watching it")[2]
    assert set(re.findall(r"elasticrec_[a-z_]+", watching)) <= known


def test_the_page_of_deployment_has_the_policy_of_the_page():
    assert re.findall(r'Content-Security-Policy "([^"]+)"', DEPLOY) == [page.POLICY]


@pytest.fixture
def unit():
    return ROOT / "deploy" / "elasticrec.service"


def test_the_unit_starts_what_there_is(unit):
    text = unit.read_text(encoding="utf-8")
    program, command, *words = shlex.split(re.search(r"^ExecStart=(.+)$", text, re.M)[1])
    assert program.endswith("/elasticrec")
    assert {word for word in words if word.startswith("--")} <= options_of(command)


def test_the_unit_is_closely_confined(unit):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze on this machine: the unit was not scored")
    command = ["systemd-analyze", "security", "--offline=true", str(unit)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    score = re.search(r"Overall exposure level for \S+: ([\d.]+)", ran.stdout)
    assert float(score[1]) < 2.0, ran.stdout


def test_the_image_starts_what_there_is():
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    command, *words = json.loads(re.search(r"^CMD (.+)$", lines, re.M)[1])
    assert {word for word in words if word.startswith("--")} <= options_of(command)
    assert re.search(r"^USER elasticrec$", lines, re.M)
    assert "/healthz" in lines
    for name in re.search(r"^COPY (pyproject.+) \./$", lines, re.M)[1].split():
        assert (ROOT / name).exists()


def test_tokens_from_the_command_line_open_vectors(client, tmp_path):
    made = run("token", "films", "u3", "--expires", "5m", "--keys", tmp_path / "keys.txt")
    assert made.exit_code == 0
    headers = {"authorization": f"Bearer {made.stdout.strip()}"}
    assert client.get("/models/films/vector", headers).status_code == 200
    assert client.get("/models/books/vector", headers).status_code == 403


def test_a_new_key_is_a_key():
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
        (["serve", "nothing", "--poll", "0"], "poll_seconds is 0.0"),
        (["serve", "nothing", "--poll", "nan"], "poll_seconds is nan, expected a number from 0.01"),
    ],
)
def test_bad_input_is_one_line(words, said):
    ended = run(*words, ELASTICREC_TOKEN_KEYS="")
    assert ended.exit_code == 2
    assert said in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_a_port_in_use_is_said_before_anything_is_loaded(made_models):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ended = run("serve", made_models, "--port", taken.getsockname()[1])
    assert ended.exit_code == 2
    assert "cannot listen on 127.0.0.1" in ended.stderr
