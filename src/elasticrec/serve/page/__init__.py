"""The page at `/`: plain files, read once, with headers that let it load nothing from elsewhere."""

from __future__ import annotations

import hashlib
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

FOLDER = Path(__file__).parent
INDEX = "index.html"
MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}
"""What the page is made of; no other file of the folder is served."""
POLICY = "; ".join(
    (
        "default-src 'none'",
        *(f"{kind}-src 'self'" for kind in ("script", "style", "img", "connect", "worker")),
        "manifest-src 'self'",
        *(f"{kind} 'none'" for kind in ("base-uri", "form-action", "frame-ancestors")),
    )
)
"""Everything from this host, nothing inline, nothing from elsewhere."""
HEADERS = {
    "cache-control": "no-cache",
    "content-security-policy": POLICY,
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
"""Browsers keep the files, and ask each time whether they are still right."""


def page_routes() -> list[Route]:
    """Routes for `/` and for every file of the page."""
    files = sorted(path for path in FOLDER.iterdir() if path.suffix in MEDIA_TYPES)
    return [_route("" if path.name == INDEX else path.name, path) for path in files]


def _route(name: str, path: Path) -> Route:
    """The route of one file, which is read now."""
    content, kind = path.read_bytes(), MEDIA_TYPES[path.suffix]
    headers = {**HEADERS, "etag": f'"{hashlib.sha256(content).hexdigest()}"'}

    async def answer(request: Request) -> Response:
        known = request.headers.get("if-none-match", "")
        if headers["etag"] in (tag.strip().removeprefix("W/") for tag in known.split(",")):
            return Response(None, 304, headers)
        return Response(content, headers=headers, media_type=kind)

    return Route(f"/{name}", answer, name=f"page {name or INDEX}")
