"""The routes of the service. Each translates; models, files and keys decide."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from elasticrec.errors import InputError
from elasticrec.serve import monitoring, page
from elasticrec.serve.files import file_response, held, held_response
from elasticrec.serve.middleware import REQUEST_ID, Problem, RequestMiddleware, ServeConfig
from elasticrec.serve.models import CATALOGUE, Models, Served
from elasticrec.serve.monitoring import Metrics
from elasticrec.serve.tokens import Keys, TokenError, bearer
from elasticrec.space import Budget
from elasticrec.stream.release import WITHDRAWN

CACHED = "public, max-age=0, s-maxage=60, must-revalidate, no-transform"
"""Shared caches keep an answer for a minute; clients ask whether the model was replaced."""
JSON, BINARY = "application/json", "application/octet-stream"
STREAM = "application/vnd.elasticrec.stream"
VECTOR = "application/vnd.elasticrec.vector"
OPENAPI = Path(__file__).with_name("openapi.json").read_bytes()
BUDGET = r"([0-9]{1,18}|[0-9]{1,9}(\.[0-9]{1,9})? ?([kKmMgG][iI]?)?[bB])"
"""Budgets as queries spell them."""
_MEDIA_TYPES = {CATALOGUE: JSON, "curve.json": JSON, WITHDRAWN: BINARY}


def create_app(config: ServeConfig) -> Starlette:
    """The app of these settings."""
    numbers = Metrics()
    models = Models(config.models, numbers)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await run_in_threadpool(models.look)
        watching = asyncio.create_task(models.watch(config.poll_seconds))
        yield
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching
        models.close()

    app = Starlette(
        routes=_routes(),
        middleware=[Middleware(RequestMiddleware, config=config, metrics=numbers)],
        exception_handlers={Problem: _refused, HTTPException: _refused},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.state.models, app.state.metrics, app.state.keys = models, numbers, Keys.load(config.keys)
    app.state.page = held(page.contents(), packed=page.contents())
    return app


def _routes() -> list[Route]:
    """Every route of the service."""
    model = "/models/{name}"
    return [
        Route("/healthz", healthz),
        Route("/readyz", readyz),
        Route("/readyz/{name}", model_readyz),
        Route("/metrics", metrics_text),
        Route("/openapi.json", openapi),
        Route("/models", list_models),
        Route(model, model_facts),
        Route(f"{model}/stream.elastic", stream),
        Route(f"{model}/vector", vector),
        Route(f"{model}/{{file}}", beside),
        Route("/", page_file),
        Route("/{file}", page_file),
    ]


async def _refused(request: Request, error: Exception) -> Response:
    """The problem document of a refusal."""
    if isinstance(error, HTTPException):
        error = Problem.of_status(error.status_code, error.detail)
    assert isinstance(error, Problem)
    return error.response(request.scope[REQUEST_ID])


def _model(request: Request) -> Served:
    models: Models = request.app.state.models
    return models.get(request.path_params["name"])


def _state(content: dict[str, Any]) -> Response:
    status = 200 if content["status"] in ("alive", "ready") else 503
    return Response(json.dumps(content), status, {"cache-control": "no-store"}, JSON)


async def list_models(request: Request) -> Response:
    """All models that are served."""
    return Response(request.app.state.models.document, headers=_headers(JSON))


async def model_facts(request: Request) -> Response:
    """The facts of one model."""
    return Response(_model(request).document, headers=_headers(JSON))


async def stream(request: Request) -> Response:
    """The stream, or its longest prefix within a budget."""
    served, name = _model(request), request.path_params["name"]
    n_bytes, called = served.stream.n_bytes, f"{name}.elastic"
    if "budget" in request.query_params:
        budget, least = _budget(request.query_params["budget"]), served.index.head.least
        if budget < least:
            detail = f"a budget of {budget} bytes, the smallest useful size is {least}"
            raise Problem("budget-too-small", detail, smallest_budget=least)
        n_bytes = served.index.longest_prefix(budget)
        called = f"{name}-{budget}.elastic"
    headers = _headers(STREAM) | {"content-disposition": f'attachment; filename="{called}"'}
    return file_response(request, served.stream, headers, n_bytes=n_bytes)


def _budget(text: str) -> int:
    """The bytes of a query's budget; 0 for less than one."""
    if not re.fullmatch(BUDGET, text):
        detail = f"budget: {text[:40]!r} is not a size, expected 5MB, 512KB, 1MiB or plain bytes"
        raise Problem("malformed", detail)
    with suppress(InputError):
        return Budget.parse(text).n_bytes
    return 0


def _headers(media_type: str) -> dict[str, str]:
    """Headers of a file that may change with the next version of its model."""
    return {"content-type": media_type, "cache-control": CACHED}


async def beside(request: Request) -> Response:
    """A file beside the stream: curve, catalogue or withdrawn items."""
    served, called = _model(request), request.path_params["file"]
    if called not in served.files or called not in _MEDIA_TYPES:
        raise Problem("no-file", f"the model has no file {called!r}")
    return held_response(request, served.files, called, _headers(_MEDIA_TYPES[called]))


async def vector(request: Request) -> Response:
    """The vector of the user whom a token names."""
    name = request.path_params["name"]
    user = _user(request, name)
    if request.method == "HEAD":
        raise Problem("method-not-allowed", "HEAD, expected GET", headers={"allow": "GET"})
    content = await run_in_threadpool(_model(request).vectors.file, user)
    if content is None:
        raise Problem("no-vector", "the model has no vector for this user")
    return Response(content, headers={"cache-control": "no-store"}, media_type=VECTOR)


def _user(request: Request, name: str) -> str:
    """The user of the request's token; refusals are alike whether or not a model exists."""
    keys: Keys = request.app.state.keys
    try:
        return keys.user(bearer(request.headers.get("authorization")), name)
    except TokenError as refused:
        request.app.state.metrics.refused.add(1, refused.reason)
        if refused.reason == "other-model":
            raise Problem("forbidden", "the token is for another model") from None
        invalid = "" if refused.reason == "missing" else ', error="invalid_token"'
        challenge = {"www-authenticate": f'Bearer realm="elasticrec"{invalid}'}
        raise Problem("unauthorized", "a valid token is needed", headers=challenge) from None


async def healthz(request: Request) -> Response:  # noqa: ARG001
    """An answer while the process lives."""
    return _state({"status": "alive"})


async def readyz(request: Request) -> Response:
    """The state of every model; 200 while any is served, so that a bad one stops no other."""
    models = request.app.state.models
    states = dict.fromkeys(models.served, "ready") | models.failures
    return _state({"status": "ready" if models.served else "not ready", "models": states})


async def model_readyz(request: Request) -> Response:
    """The state of one model: 200 while its version on disk is served."""
    failures, name = request.app.state.models.failures, request.path_params["name"]
    if name not in failures:
        _model(request)
    return _state({"status": failures.get(name, "ready")})


async def metrics_text(request: Request) -> Response:
    """Numbers for Prometheus."""
    headers = {"cache-control": "no-store", "content-type": monitoring.CONTENT_TYPE}
    if request.method == "HEAD":  # without a length: only the numbers would tell it
        return StreamingResponse(iter(()), headers=headers)
    request.app.state.models.measure()
    return Response(request.app.state.metrics.text(), headers=headers)


async def openapi(request: Request) -> Response:  # noqa: ARG001
    """This API as an OpenAPI document."""
    return Response(OPENAPI, media_type=JSON)


async def page_file(request: Request) -> Response:
    """A file of the page."""
    asked = request.path_params.get("file")
    name, files = asked or page.INDEX, request.app.state.page
    media_type = page.MEDIA_TYPES.get(Path(name).suffix)
    if name not in files or asked == page.INDEX or media_type is None:
        raise Problem("not-found", "the service has no such path")
    return held_response(request, files, name, page.HEADERS | {"content-type": media_type})
