"""The server is light: it starts, loads, searches and packs without torch and the like."""

import subprocess
import sys

CODE = """
import asyncio, sys
from pathlib import Path
from elasticrec.cli.main import load_command
load_command("serve")
from elasticrec.serve import running
from elasticrec.serve.app import create_app
from elasticrec.serve.config import ServeConfig
import httpx

async def main():
    app = create_app(ServeConfig(models=(Path(sys.argv[1]),), shelf=Path(sys.argv[2])))
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://made") as client:
            while (await client.get("/readyz")).status_code != 200:
                await asyncio.sleep(0.02)
            url = "/v1/models/books/bundles?budget=60KB"
            assert (await client.get(url, follow_redirects=True)).status_code == 200

asyncio.run(main())
heavy = {"torch", "scipy", "sklearn", "pandas", "polars", "matplotlib", "pyarrow"}
print(sorted(heavy & set(sys.modules)))
"""


def test_serving_imports_nothing_heavy(made_models, tmp_path):
    command = [sys.executable, "-c", CODE, str(made_models), str(tmp_path / "shelf")]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
