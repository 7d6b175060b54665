"""The OpenAPI document is true: schemathesis asks what it allows, and what it does not."""

import signal
import subprocess
import sys

from tests.serve.server import Server


def test_schemathesis_finds_nothing(made_models, tmp_path, keys):
    token = keys.sign("films", "u0", 3_600)
    log = tmp_path / "log"
    with Server(made_models, "--keys", tmp_path / "keys.txt", log=log) as server:
        command = [sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json"]
        command += ["--max-examples", "5", "--seed", "1", "--no-color"]
        command += ["--header", f"Authorization: Bearer {token}"]
        ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
        assert ran.returncode == 0, ran.stdout[-5_000:] + ran.stderr[-2_000:]
        assert "11 passed" in ran.stdout
        assert server.stop() in (0, -signal.SIGTERM)
    assert "Traceback" not in log.read_text()
