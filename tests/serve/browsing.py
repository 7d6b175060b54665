"""A person at the page: a real browser, and what she sees and does there."""

import json
import os
import shutil
import time
import urllib.request
from pathlib import Path
from urllib.parse import urljoin

import pytest

import elasticrec_device

SCREENSHOTS = Path(__file__).resolve().parents[2] / "test-output"
"""Pictures of the page are left here; git ignores it."""
PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
OPTIONS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--host-resolver-rules=MAP plain.test 127.0.0.1",
]
"""Chromium refuses its sandbox to root. The made-up host is one that is not `localhost`."""
AWAY = "net::ERR_INTERNET_DISCONNECTED"


def chromium():
    """The path of an installed Chromium, or skips and says so."""
    found = [os.environ.get("CHROMIUM"), *map(shutil.which, PROGRAMS)]
    path = next((path for path in found if path), None)
    if path is None:
        pytest.skip("no chromium on this machine: the browser tests were skipped")
    return path


class Visit:
    """One page in a browser that has not been here before."""

    def __init__(self, browser, url, *, script="", **context):
        self.url = url
        self.context = browser.new_context(**context)
        self.context.add_init_script(script)
        self.page = self.context.new_page()
        self.page.set_default_timeout(30_000)
        self.requests, self.complaints = [], []
        self.context.on("request", self._note)
        self.page.on("console", self._listen)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(url)
        self.ready()

    def _note(self, request):
        self.requests.append(request)

    def _listen(self, message):
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def ready(self):
        """Wait until the page ranks, and keeps what it needs without a network."""
        self.page.wait_for_selector("#device[data-bytes]")
        if self.page.evaluate("isSecureContext"):
            self.page.evaluate("navigator.serviceWorker.ready.then(() => undefined)")
        self.until(lambda: self.text("#requests") == "0" and self.text("#compared"))

    def until(self, holds, seconds=30):
        """Wait until something holds; the page's policy lets no test put code into it."""
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, f"it never came about: {self.text('#download')}"
            self.page.wait_for_timeout(20)

    def like(self, text):
        """Search a title, and take the first that is found."""
        self.page.get_by_role("combobox", name="Search").fill(text)
        self.page.locator("#found [role=option]").first.wait_for()
        self.page.keyboard.press("Enter")

    def move(self, *keys):
        """Press keys on the slider, and wait for the new size."""
        before = self.held
        self.page.get_by_role("slider").focus()
        for key in keys:
            self.page.keyboard.press(key)
        self.until(lambda: self.held != before)

    def asked(self, part="stream"):
        """Ranges of the requests for a file since the last look; None for the whole file."""
        found = [each for each in self.requests if f"/{part}" in each.url]
        ranges = [each.headers.get("range") for each in found]
        self.requests.clear()
        return ranges

    @property
    def liked(self):
        """Titles that are liked."""
        return self.page.locator("#likes .title").all_inner_texts()

    @property
    def listed(self):
        """Titles that are recommended, best first."""
        return self.page.locator("#listed .title").all_inner_texts()

    @property
    def held(self):
        """Bytes in use."""
        return int(self.page.get_attribute("#device", "data-bytes"))

    def text(self, selector):
        """The text of an element."""
        return self.page.inner_text(selector)

    def picture(self, name):
        """Keep a picture of the whole page."""
        SCREENSHOTS.mkdir(exist_ok=True)
        self.page.wait_for_timeout(300)
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)

    def close(self, *, offline=False):
        """Leave; a page that complained has failed."""
        self.context.close()
        allowed = AWAY if offline else "\0"
        assert [text for text in self.complaints if allowed not in text] == []


def ranked(url, n_bytes, titles, tmp_path, *, listing="models", k=12):
    """Titles that the Python runtime lists from the same bytes for the same likes."""
    model = json.loads(fetched(url + "/" + listing))["models"][0]
    whole, names = (
        fetched(urljoin(f"{url}/{listing}", model["files"][part]))
        for part in ("stream", "catalogue")
    )
    path = tmp_path / "prefix.elastic"
    path.write_bytes(whole[:n_bytes])
    names = json.loads(names)["titles"]
    with elasticrec_device.open(path) as stream:
        found = stream.recommend(history=[names.index(title) for title in titles], k=k)
        return [names[item.id] for item in found]


def fetched(url):
    """The body of an answer."""
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.read()
