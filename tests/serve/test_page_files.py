"""The page's files: what is served, how, and that nothing in them reaches elsewhere."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from elasticrec.serve.page import FOLDER, MEDIA_TYPES, published

ROOT = Path(__file__).resolve().parents[2]
RUNTIMES = [
    ROOT / "device" / name
    for name in ("js/elasticrec-device.js", "wasm/elasticrec-wasm.js", "wasm/elasticrec.wasm")
]
TSC = RUNTIMES[0].parent / "node_modules" / ".bin" / "tsc"
FILES = sorted(path.name for path in FOLDER.iterdir() if path.suffix in MEDIA_TYPES)
OWN = [name for name in FILES if name.endswith(".js") and not name.startswith("elasticrec-")]


def test_every_file_is_served_with_its_type_and_its_policy(client):
    assert len(FILES) > 10
    for name in FILES:
        answer = client.get("/" if name == "index.html" else f"/{name}")
        assert answer.status_code == 200
        assert answer.content == (FOLDER / name).read_bytes()
        assert answer.headers["content-type"] == MEDIA_TYPES[Path(name).suffix]
        assert answer.headers["cache-control"] == "no-cache"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in answer.headers
        policy = dict(
            part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; ")
        )
        assert policy.pop("default-src") == "'none'"
        assert policy.pop("script-src") == "'self' 'wasm-unsafe-eval'"
        assert set(policy.values()) == {"'self'", "'none'"}
        assert policy["connect-src"] == "'self'"


def test_a_browser_that_can_unpack_gets_it_packed(client):
    plain, packed = (client.get("/page.js", {"accept-encoding": kind}) for kind in ("", "gzip, br"))
    assert packed.content == plain.content == (FOLDER / "page.js").read_bytes()  # unpacked
    lengths = [int(answer.headers["content-length"]) for answer in (packed, plain)]
    assert 2 * lengths[0] < lengths[1] == len(plain.content)
    assert packed.headers["content-encoding"] == "gzip"
    assert plain.headers["vary"] == packed.headers["vary"] == "Accept-Encoding"
    assert plain.headers["etag"] != packed.headers["etag"]


def test_all_modules_but_the_runtimes_are_asked_for_at_once():
    html = (FOLDER / "index.html").read_text()
    named = re.findall(r'<link rel="modulepreload" href="([^"]+)">', html)
    assert sorted([*named, "page.js", "sw.js"]) == OWN
    imports = re.compile(r"(?<!\{)import\('\./elasticrec-|from '\./elasticrec-")
    importing = [name for name in OWN if imports.search((FOLDER / name).read_text())]
    assert importing == ["holding.js"]


def test_a_browser_that_has_a_file_gets_none(client):
    tag = client.get("/page.js").headers["etag"]
    again = client.get("/page.js", {"if-none-match": f'"other", W/{tag}'})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    assert client.get("/page.js", {"if-none-match": '"other"'}).status_code == 200


@pytest.mark.parametrize("path", ["/__init__.py", "/index.html", "/..%2f..%2fapp.py", "/page.jsx"])
def test_nothing_else_is_served(client, path):
    assert client.get(path).status_code == 404


def test_a_published_page_differs_in_where_its_list_is():
    files = published()
    assert files.keys() == set(FILES)
    served = (FOLDER / "index.html").read_text()
    there = served.replace('href="models"', 'href="models.json"', 1)
    assert files.pop("index.html").decode() == there != served
    assert all(content == (FOLDER / name).read_bytes() for name, content in files.items())


def test_the_runtimes_are_those_that_ship_for_devices():
    for path in RUNTIMES:
        assert (FOLDER / path.name).read_bytes() == path.read_bytes()


def test_the_service_worker_keeps_every_file_but_itself():
    source = (FOLDER / "sw.js").read_text()
    listed = re.search(r"const FILES = \[(.*?)\];", source, flags=re.DOTALL).group(1)
    kept = re.findall(r"'([^']+)'", listed)
    assert kept == sorted(kept)
    assert {"index.html" if name == "./" else name for name in kept} == set(FILES) - {"sw.js"}


def test_nothing_comes_from_elsewhere_and_no_text_becomes_code():
    links = set()
    for name in FILES:
        text = (FOLDER / name).read_bytes().decode(errors="replace")
        links |= {(name, link) for link in re.findall(r"https?://[^\s\"')]+", text)}
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", text
        )
    named = {link for name, link in links if name == "index.html"}
    assert named == {
        "https://creativecommons.org/licenses/by-sa/4.0/",
        "https://github.com/zygmuntz/goodbooks-10k",
    }
    others = {link for name, link in links if name != "index.html"}
    assert others == {"http://www.w3.org/2000/svg"}  # the name of a language, never asked for
    html = (FOLDER / "index.html").read_text()
    assert not re.search(r"<script(?! type=\"module\" src=)|<style|\son\w+=|\sstyle=", html)


def test_only_the_documents_and_the_stream_are_asked_for():
    asking = [name for name in OWN if re.search(r"\bfetch\(|XMLHttp|sendBeacon|WebSocket",
                                                (FOLDER / name).read_text())]  # fmt: skip
    assert asking == ["models.js", "sw.js"]  # and the runtime, for the stream


def test_files_are_short():
    for name in OWN:
        lines = (FOLDER / name).read_text().splitlines()
        assert len(lines) < 250, name
        assert max(map(len, lines)) <= 100, name


def test_the_manifest_names_what_is_there():
    manifest = json.loads((FOLDER / "manifest.webmanifest").read_text())
    assert manifest["start_url"] == "./"
    assert {icon["src"] for icon in manifest["icons"]} <= set(FILES)


@pytest.mark.parametrize(
    ("name", "library"), [("page.js", "dom,dom.iterable"), ("sw.js", "webworker")]
)
def test_types_hold(name, library):
    if not TSC.exists() or shutil.which("node") is None:
        pytest.skip("no tsc in device/js/node_modules: the types of the page were not checked")
    words = [str(TSC), "--noEmit", "--allowJs", "--checkJs", "--strict", "--target", "es2022"]
    words += ["--module", "es2022", "--lib", f"es2023,{library}", str(FOLDER / name)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
