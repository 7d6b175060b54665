"""The documentation site: built offline, every link leads somewhere, a browser shows it."""

import functools
import http.server
import re
import subprocess
import sys
import threading
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from scripts import docs_site
from tests.serve.browsing import OPTIONS, chromium

ROOT = Path(__file__).resolve().parents[2]
pytest.importorskip("material", reason="no mkdocs-material: the documentation site was not built")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    words = ["make", "-o", f"{sys.prefix}/.ready", f"VENV={sys.prefix}", f"SITE={folder}"]
    done = subprocess.run(
        [*words, "docs-site"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


class Page(HTMLParser):
    """The anchors of a page, where its links lead, and what a browser fetches for it."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.fetched = {""}, [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.anchors |= {found.get("id"), found.get("name")}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        elif tag == "link" and found.get("rel") not in ("canonical", "next", "prev"):
            self.fetched.append(found.get("href"))
        elif found.get("src"):
            self.fetched.append(found["src"])


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}


def test_every_page_is_there(site, pages):
    names = {path.relative_to(site).as_posix() for path in pages}
    docs = {path.relative_to(ROOT / "docs").with_suffix(".html").as_posix()
            for path in (ROOT / "docs").rglob("*.md")}  # fmt: skip
    books = {f"notebooks/{name}.html" for name in ("own-data", "browser", "sizes")}
    assert docs | books | {"device/python.html", "device/js.html", "contributing.html"} <= names
    api = (site / "api.html").read_text()
    assert "elasticrec_device" in api
    assert "__getstate__" not in api


def test_no_page_takes_the_place_of_another():
    places = [place for name, place in docs_site.pages().items() if name != "docs/index.md"]
    assert sorted(places) == sorted(set(places))


def test_every_link_leads_somewhere(site, pages):
    wrong = []
    for path, page in pages.items():
        for link in (*page.links, *page.fetched):
            target = urlsplit(link)
            if target.scheme or link.startswith(("data:", "mailto:")):
                continue
            found = (path.parent / unquote(target.path)).resolve() if target.path else path
            found = found / "index.html" if found.is_dir() else found
            anchor = unquote(target.fragment)
            if not found.is_file() or (found in pages and anchor not in pages[found].anchors):
                wrong.append(f"{path.relative_to(site)}: {link}")
    assert wrong == []
    assert sum(len(page.links) for page in pages.values()) > 1_000


def test_links_to_the_repository_name_files_of_it(pages):
    ours = re.compile(r"https://github\.com/elasticrec/elasticrec/(?:blob|tree)/main/([^#]+)")
    named = {m[1] for page in pages.values() for link in page.links if (m := ours.match(link))}
    assert len(named) > 20
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_nothing_is_fetched_from_elsewhere(site, pages):
    for path, page in pages.items():
        assert [link for link in page.fetched if "//" in link] == [], path
    for path in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(https?:)?//|@import", path.read_text("utf-8")), path


@pytest.fixture(scope="module")
def url(site):
    handler = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: 0})
    place = functools.partial(handler, directory=site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), place) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def page(url):
    path = chromium()
    api = pytest.importorskip("playwright.sync_api", reason="no playwright")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=OPTIONS)
        page = browser.new_page()
        page.requests, page.complaints = [], []
        page.on("request", lambda request: page.requests.append(request.url))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("console", lambda said: said.type == "error" and page.complaints.append(said.text))
        yield page
        browser.close()


def test_a_browser_shows_it_searches_it_and_asks_nobody_else(page, url):
    page.goto(url + "/index.html")
    assert page.get_by_role("heading", level=1).inner_text().startswith("elasticrec")
    page.get_by_role("link", name="Concepts").first.click()
    page.wait_for_url("**/concepts.html")
    wide = "[...document.querySelectorAll('article img')].map((each) => each.naturalWidth)"
    assert min(page.evaluate(wide)) > 100
    search = page.get_by_role("textbox", name="Search")
    search.click()
    search.press_sequentially("withdrawn")
    page.locator(".md-search-result__link").first.wait_for()
    assert page.complaints == []
    assert [each for each in page.requests if not each.startswith((url, "data:", "blob:"))] == []


def test_the_notebook_ranks_in_the_browser_as_python_did(page, url):
    page.goto(url + "/notebooks/browser.html")
    ranked = page.locator("ol.ranked li").filter(has_text="(")
    ranked.first.wait_for()
    browser = [re.fullmatch(r"(.*) \((\d+)\)", text).groups() for text in ranked.all_inner_texts()]
    printed = page.locator("pre.output").nth(1).inner_text().strip().splitlines()
    python = [line.split(maxsplit=1) for line in printed]
    assert [(title, score) for score, title in python] == browser
    assert page.complaints == []
