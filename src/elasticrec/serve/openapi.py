"""The OpenAPI page: what every route may answer, and refusals as problem documents."""

from __future__ import annotations

import copy
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.security import HTTPBearer
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import Response

from elasticrec.serve.documents import ProblemDocument
from elasticrec.serve.gate import REQUEST_ID
from elasticrec.serve.negotiation import JSON
from elasticrec.serve.problems import KINDS, MEDIA_TYPE, Problem, of_status

Answer = type[BaseModel] | str
EXPECTED = {
    "budget": "expected 5MB, 512KB, 1MiB, 1.5MB or plain bytes",
    "name": "expected at most 64 letters, digits, dots, dashes and underscores",
    **dict.fromkeys(("sha256", "to", "model_id"), "expected 64 hexadecimal digits, in lower case"),
}
"""What is said about a malformed parameter."""
bearer_scheme = HTTPBearer(
    auto_error=False, description="Made by `elasticrec token` for one user of one model."
)


def answers(good: dict[int, Answer], *refusals: int) -> dict[int | str, dict[str, Any]]:
    """What a route may answer, for its `responses`.

    Args:
        good: by status a document, a media type, or where there is no body, what it means.
        refusals: statuses of problem documents.
    """
    listed: dict[int | str, dict[str, Any]] = {}
    for status, answer in good.items():
        if not isinstance(answer, str):
            listed[status] = {"model": answer, "description": (answer.__doc__ or "").strip()}
        elif "/" in answer:
            schema = {} if answer == JSON else {"type": "string", "format": "binary"}
            described = "A range." if status == 206 else "The file."
            listed[status] = {"description": described, "content": {answer: {"schema": schema}}}
        else:
            listed[status] = {"description": answer}
    for status in refusals:
        titles = sorted({title for code, title in KINDS.values() if code == status})
        listed[status] = _problem(" or: ".join(titles) + ".")
    listed["default"] = _problem("Any other refusal.")
    return listed


def describe(app: FastAPI) -> None:
    """Make the app's page say what its gate does: HEAD beside GET, problems for bad parameters."""

    def page() -> dict[str, Any]:
        if app.openapi_schema is None:
            made = get_openapi(
                title=app.title,
                version=app.version,
                description=app.description,
                routes=app.routes,
            )
            for path in made["paths"].values():
                path["get"]["responses"].pop("422", None)
                path["head"] = _without_bodies(path["get"])
            schemas = made["components"]["schemas"]
            for name in ("HTTPValidationError", "ValidationError"):
                schemas.pop(name, None)
            reference = f"#/components/schemas/{ProblemDocument.__name__}"
            schemas[ProblemDocument.__name__] = ProblemDocument.model_json_schema()
            made["paths"] = _pointing(made["paths"], reference)
            app.openapi_schema = made
        return app.openapi_schema

    app.openapi = page  # type: ignore[method-assign]


def handle_problems(app: FastAPI) -> None:
    """Make every refusal of the framework a problem document."""

    async def refused(request: Request, error: Exception) -> Response:
        if isinstance(error, RequestValidationError):
            first = error.errors()[0]
            where = str(first["loc"][-1])
            error = Problem("malformed", f"{where}: {EXPECTED.get(where, first['msg'])}")
        elif isinstance(error, HTTPException):
            headers = dict(error.headers or {})
            if error.status_code == 405:
                headers = {"allow": "GET, HEAD"}
            error = of_status(error.status_code, str(error.detail), headers)
        if not isinstance(error, Problem):
            raise error
        return error.response(request.scope[REQUEST_ID])

    for kind in (Problem, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, refused)


def _problem(description: str) -> dict[str, Any]:
    schema = {"$ref": "#problem"}
    return {"description": description, "content": {MEDIA_TYPE: {"schema": schema}}}


def _pointing(part: Any, reference: str) -> Any:
    """A part of the page in which the problem's schema is named."""
    if isinstance(part, dict):
        if part == {"$ref": "#problem"}:
            return {"$ref": reference}
        return {name: _pointing(value, reference) for name, value in part.items()}
    if isinstance(part, list):
        return [_pointing(value, reference) for value in part]
    return part


def _without_bodies(operation: dict[str, Any]) -> dict[str, Any]:
    """The same operation as HEAD."""
    head = copy.deepcopy(operation)
    head["operationId"] += "_head"
    for response in head["responses"].values():
        response.pop("content", None)
    head["responses"].pop("206", None)
    return head
