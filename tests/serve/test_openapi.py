"""The OpenAPI page is true: schemathesis asks everything that it allows, and what it does not."""

import re
import signal
import subprocess
import sys

from elasticrec.serve.problems import KINDS
from tests.serve.server import Server


def test_every_route_is_described(client):
    page = client.get("/openapi.json").json()
    assert set(page["paths"]) == {
        "/v1/models",
        "/v1/models/{name}/curve",
        "/v1/models/{name}/bundles",
        "/v1/bundles/{sha256}",
        "/v1/bundles/{sha256}/upgrade",
        "/v1/catalogues/{sha256}",
        "/v1/models/{name}/users/{user}/vector",
        "/healthz",
        "/readyz",
        "/metrics",
    }
    names = []
    for path in page["paths"].values():
        assert set(path) == {"get", "head"}
        names += [operation["operationId"] for operation in path.values()]
        assert "422" not in path["get"]["responses"]
    assert len(names) == len(set(names))
    kinds = page["components"]["schemas"]["ProblemDocument"]["properties"]["type"]["pattern"]
    assert all(re.fullmatch(kinds, f"urn:elasticrec:problem:{kind}") for kind in KINDS)
    security = page["paths"]["/v1/models/{name}/users/{user}/vector"]["get"]["security"]
    assert security == [{"HTTPBearer": []}]


def test_schemathesis_finds_nothing(made_models, tmp_path, keys):
    token = keys.sign("books", "u1", 3_600)
    options = ("--keys", str(tmp_path / "keys.txt"), "--no-plan-ahead")
    with Server(made_models, tmp_path / "shelf", tmp_path / "log", *options) as server:
        command = [sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json"]
        command += ["--max-examples", "5", "--seed", "1", "--no-color"]
        command += ["--header", f"Authorization: Bearer {token}"]
        ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
        assert ran.returncode == 0, ran.stdout[-5_000:] + ran.stderr[-2_000:]
        assert "20 passed" in ran.stdout
        assert server.stop() in (0, -signal.SIGTERM)
    assert "Traceback" not in (tmp_path / "log").read_text()
