"""The server is light: it starts and serves without torch and the like."""

import subprocess
import sys

CODE = """
import asyncio, sys
from pathlib import Path
from elasticrec.cli.main import load_command
load_command("serve")
from elasticrec.serve import connections
from elasticrec.serve.app import create_app
from elasticrec.serve.middleware import ServeConfig
import httpx

async def main():
    app = create_app(ServeConfig(models=(Path(sys.argv[1]),)))
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://made") as client:
            answer = await client.get("/models/films/stream.elastic?budget=5KB")
            assert answer.status_code == 200
            app.state.models.served["films"].vectors.file("u3")

asyncio.run(main())
heavy = {"torch", "scipy", "sklearn", "pandas", "polars", "matplotlib", "pyarrow", "fastapi"}
print(sorted(heavy & set(sys.modules)))
"""


def test_serving_imports_nothing_heavy(made_models):
    command = [sys.executable, "-c", CODE, str(made_models)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == "[]\n"
