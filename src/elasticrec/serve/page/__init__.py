"""The page: plain files, and headers that let it load nothing from elsewhere."""

from __future__ import annotations

from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
INDEX = "index.html"
MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".wasm": "application/wasm",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}
"""The kinds of file that the page is made of."""
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
"""Everything from this host, WebAssembly too, nothing inline, nothing from elsewhere."""
HEADERS = {
    "cache-control": "no-cache",
    "content-security-policy": POLICY,
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
}
"""Browsers keep the files, and ask each time whether they are still right."""
LIST = 'id="models" href="models"'
"""Where the page of the service finds the list of models."""
PUBLISHED_LIST = 'id="models" href="models.json"'
"""Where that of a published folder does."""


@cache
def contents() -> dict[str, bytes]:
    """Every file by name."""
    return {
        path.name: path.read_bytes()
        for path in sorted(FOLDER.iterdir())
        if path.suffix in MEDIA_TYPES
    }


def published() -> dict[str, bytes]:
    """The files for a published folder, whose list of models has another name."""
    index = contents()[INDEX].decode()
    assert LIST in index
    return contents() | {INDEX: index.replace(LIST, PUBLISHED_LIST).encode()}
