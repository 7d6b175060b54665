"""A person at the page: a real browser, and what she sees and does there."""

import json
import os
import shutil
import time
import urllib.request
from pathlib import Path

import pytest

import elasticrec_device

SCREENSHOTS = Path(__file__).resolve().parents[2] / "test-output"
"""Where pictures of the page are left; git ignores it."""
PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
OPTIONS = ["--no-sandbox", "--host-resolver-rules=MAP plain.test 127.0.0.1"]
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

    def __init__(self, browser, url, **context):
        self.url = url
        self.context = browser.new_context(**context)
        self.page = self.context.new_page()
        self.page.set_default_timeout(30_000)
        self.requests, self.complaints = [], []
        self.context.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", self._listen)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(url)
        self.ready()

    def _listen(self, message):
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def ready(self):
        """Wait until the page ranks, and keeps what it needs without a network."""
        self.page.wait_for_selector("#device[data-how]")
        if self.page.evaluate("isSecureContext"):
            self.page.evaluate("navigator.serviceWorker.ready.then(() => undefined)")
        self.until(lambda: self.text("#requests") == "0")

    def until(self, holds, seconds=30):
        """Wait until something holds; the page's policy lets no test put code into it."""
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, f"it never came about: {self.text('#download')}"
            self.page.wait_for_timeout(20)

    def like(self, text):
        """Search a title, and take the first that is found."""
        self.page.get_by_role("combobox", name="Search titles").fill(text)
        self.page.locator("#found [role=option]").first.wait_for()
        self.page.keyboard.press("Enter")

    def move(self, *keys):
        """Press keys on the slider, and wait for the new size."""
        before = self.held
        self.page.get_by_role("slider").focus()
        for key in keys:
            self.page.keyboard.press(key)
        self.until(lambda: self.held != before)

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
        """The hash of the bundle in use."""
        return self.page.get_attribute("#device", "data-sha256")

    def text(self, selector):
        """What an element shows."""
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


def ranked(url, sha256, titles, tmp_path, k=12):
    """Titles that the Python runtime lists from the same bundle for the same likes."""
    path = tmp_path / f"{sha256}.elastic"
    path.write_bytes(fetched(f"{url}/v1/bundles/{sha256}"))
    model = json.loads(fetched(f"{url}/v1/models"))["models"][0]
    names = json.loads(fetched(url + model["catalogue"]["url"]))["titles"]
    with elasticrec_device.open(path, sha256=sha256) as bundle:
        found = bundle.recommend(history=[names.index(title) for title in titles], k=k)
        return [names[item.id] for item in found]


def fetched(url):
    """The body of an answer."""
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.read()
