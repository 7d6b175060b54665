"""The page: plain files, and headers that let it load nothing from elsewhere."""

from __future__ import annotations

import gzip
import hashlib
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
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self' 'wasm-unsafe-eval'",
        *(f"{kind}-src 'self'" for kind in ("style", "img", "connect", "worker")),
        "manifest-src 'self'",
        *(f"{kind} 'none'" for kind in ("base-uri", "form-action", "frame-ancestors")),
    )
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
def files() -> dict[str, tuple[bytes, str, str]]:
    """Content, media type and hash of every file by name."""
    found = {}
    for path in sorted(FOLDER.iterdir()):
        if path.suffix in MEDIA_TYPES:
            content = path.read_bytes()
            digest = hashlib.sha256(content).hexdigest()
            found[path.name] = (content, MEDIA_TYPES[path.suffix], digest)
    return found


@cache
def packed(name: str) -> bytes:
    """The content of a file after gzip."""
    return gzip.compress(files()[name][0], mtime=0)


def published() -> dict[str, bytes]:
    """The files for a published folder, whose list of models has another name."""
    contents = {name: content for name, (content, _, _) in files().items()}
    index = contents[INDEX].decode()
    assert LIST in index
    return contents | {INDEX: index.replace(LIST, PUBLISHED_LIST).encode()}
