"""Problems: every refusal as a problem document (RFC 9457) with a type that programs can read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

MEDIA_TYPE = "application/problem+json"
PREFIX = "urn:elasticrec:problem:"

KINDS: dict[str, tuple[int, str]] = {
    "malformed": (400, "The request is malformed"),
    "unauthorized": (401, "A valid token is needed"),
    "forbidden": (403, "The token is for another model"),
    "not-found": (404, "There is nothing here"),
    "unknown-model": (404, "There is no such model"),
    "no-file": (404, "The model has no such file"),
    "no-vector": (404, "There is no such vector"),
    "budget-too-small": (404, "No stream is that small"),
    "method-not-allowed": (405, "This can only be read"),
    "precondition-failed": (412, "The file is not the expected one"),
    "body-too-large": (413, "Requests have no body"),
    "url-too-long": (414, "The URL is too long"),
    "range-not-satisfiable": (416, "The file has no such range"),
    "headers-too-large": (431, "The headers are too long"),
    "internal": (500, "The service made a mistake"),
    "busy": (503, "The service is busy"),
    "not-ready": (503, "The model is not ready"),
}
"""All kinds of problems: status and title. The kind is the end of the document's `type`."""


class Problem(Exception):  # noqa: N818 - the standard's own word
    """A refusal."""

    def __init__(
        self, kind: str, detail: str, *, headers: Mapping[str, str] | None = None, **members: Any
    ) -> None:
        """A refusal of a kind; `members` are further facts that programs may read."""
        super().__init__(detail)
        self.kind, self.detail, self.members = kind, detail, members
        self.status, self.title = KINDS[kind]
        self.headers = dict(headers or {})

    @classmethod
    def of_status(cls, status: int, detail: str) -> Problem:
        """The problem behind a bare status of the framework."""
        fallback = "malformed" if status < HTTPStatus.INTERNAL_SERVER_ERROR else "internal"
        kind = {404: "not-found", 405: "method-not-allowed"}.get(status, fallback)
        return cls(kind, detail, headers={"allow": "GET, HEAD"} if status == 405 else None)

    def response(self, request_id: str) -> Response:
        """The document as a response."""
        content = {
            "type": PREFIX + self.kind,
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "request_id": request_id,
            **self.members,
        }
        headers = {"cache-control": "no-store", **self.headers}
        body = json.dumps(content, ensure_ascii=False).encode()
        return Response(body, self.status, headers, MEDIA_TYPE)
