"""The routes of the service. Each translates; the shelf, the registry and the keys decide."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Path, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from elasticrec.serve import documents, metrics
from elasticrec.serve.config import ServeConfig
from elasticrec.serve.files import file_response
from elasticrec.serve.gate import Gate
from elasticrec.serve.logs import to_json_lines
from elasticrec.serve.negotiation import (
    BUDGET,
    BUNDLE,
    JSON,
    PATCH,
    VECTOR,
    parse_budget,
    wants_json,
)
from elasticrec.serve.openapi import answers, bearer_scheme, describe, handle_problems
from elasticrec.serve.page import page_routes
from elasticrec.serve.problems import Problem
from elasticrec.serve.service import Service
from elasticrec.serve.tokens import LONGEST_USER
from elasticrec.version import __version__

VARIABLE = "ELASTICREC_SERVE"
"""The environment's variable with the settings for worker processes."""
A_MINUTE = "public, max-age=60"

Name = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", description="A model.")]
Sha256 = Annotated[str, Path(pattern=documents.SHA256, description="Hash of the file.")]

router = APIRouter()


def create_app(config: ServeConfig) -> FastAPI:
    """The app of these settings."""
    service = Service(config)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with service.running():
            yield

    app = FastAPI(
        title="elasticrec",
        version=__version__,
        description="One recommender, fitted to every device: bundles by budget.",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.service = service
    app.include_router(router)
    app.add_middleware(Gate, config=config, metrics=service.metrics)
    handle_problems(app)
    describe(app)
    app.router.routes.extend(page_routes())
    return app


def from_environment() -> FastAPI:
    """The app of the settings in the environment, for worker processes."""
    to_json_lines()
    return create_app(ServeConfig.from_json(os.environ[VARIABLE]))


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def _json(content: dict[str, Any], **headers: str) -> Response:
    body = json.dumps(content, separators=(",", ":"))
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(body, headers={"cache-control": A_MINUTE, **named}, media_type=JSON)


@router.get("/v1/models", responses=answers({200: documents.ModelsDocument}), tags=["models"])
async def models(request: Request) -> Response:
    """All models that are served."""
    root = request.scope.get("root_path", "")
    now = _service(request).registry.now
    return _json({"models": [documents.model_document(now[n], root) for n in sorted(now)]})


@router.get(
    "/v1/models/{name}/curve",
    responses=answers({200: documents.CurveDocument}, 400, 404, 410, 503),
    tags=["models"],
)
async def curve(request: Request, name: Name) -> Response:
    """Size against quality: a point per step."""
    service = _service(request)
    model = service.registry.get(name)
    points = await run_in_threadpool(service.shelf.curve, model)
    return _json(documents.curve_document(model, points))


@router.get(
    "/v1/models/{name}/bundles",
    responses=answers(
        {200: documents.BundleDocument, 307: "Where the bundle is."}, 400, 404, 410, 503
    ),
    tags=["bundles"],
)
async def bundles(
    request: Request,
    name: Name,
    budget: Annotated[
        str,
        Query(pattern=BUDGET, description="5MB, 512KB, 1MiB or plain bytes; rounded down."),
    ],
) -> Response:
    """The bundle for a budget: a redirect to it, or with `Accept: application/json` about it."""
    service = _service(request)
    model = service.registry.get(name)
    asked = parse_budget(budget)
    bundle = await service.shelf.bundle_for(model, asked)
    root = request.scope.get("root_path", "")
    if wants_json(request.headers.get("accept")):
        document = documents.bundle_document(bundle, asked.n_bytes, root)
        return _json(document, vary="Accept")
    headers = {"location": f"{root}/v1/bundles/{bundle.sha256}"}
    return Response(None, 307, headers | {"cache-control": A_MINUTE, "vary": "Accept"})


@router.get(
    "/v1/bundles/{sha256}",
    responses=answers({200: BUNDLE, 206: BUNDLE, 304: "The client has it."}, 400, 404, 412, 416),
    tags=["bundles"],
)
async def bundle(request: Request, sha256: Sha256) -> Response:
    """A bundle, or a range of it."""
    service = _service(request)
    stall = service.config.stall_seconds
    name = f"{sha256}.elastic"
    return await file_response(request, service.shelf.store, name, BUNDLE, stall_seconds=stall)


@router.get(
    "/v1/bundles/{sha256}/upgrade",
    responses=answers(
        {200: PATCH, 206: PATCH, 304: "The client has it."}, 400, 404, 409, 412, 416, 503
    ),
    tags=["bundles"],
)
async def upgrade(
    request: Request,
    sha256: Sha256,
    to: Annotated[str, Query(pattern=documents.SHA256, description="Hash of the new bundle.")],
) -> Response:
    """What turns one bundle into another of the same model."""
    service = _service(request)
    patch = await service.shelf.upgrade(sha256, to)
    stall = service.config.stall_seconds
    return await file_response(request, service.shelf.store, patch.name, PATCH, stall_seconds=stall)


@router.get(
    "/v1/catalogues/{sha256}",
    responses=answers(
        {200: documents.CatalogueDocument, 206: JSON, 304: "The client has it."},
        *(400, 404, 412, 416),
    ),
    tags=["bundles"],
)
async def catalogue(request: Request, sha256: Sha256) -> Response:
    """Ids and titles of a model's items, in the order of its bundles."""
    service = _service(request)
    stall = service.config.stall_seconds
    name = f"{sha256}.catalogue"
    return await file_response(request, service.shelf.store, name, JSON, stall_seconds=stall)


@router.get(
    "/v1/models/{name}/users/{user:path}/vector",
    responses=answers({200: VECTOR}, 400, 401, 403, 404, 410, 503),
    dependencies=[Depends(bearer_scheme)],
    tags=["users"],
)
async def vector(
    request: Request,
    name: Name,
    user: Annotated[str, Path(min_length=1, max_length=LONGEST_USER, description="Her id.")],
    model_id: Annotated[
        str | None,
        Query(pattern=documents.SHA256, description="The model that the device's bundle is of."),
    ] = None,
) -> Response:
    """One user's vector; private."""
    service = _service(request)
    service.allow(request.headers.get("authorization"), name, user)
    model = service.registry.get(name)
    if model_id not in (None, model.model_id):
        raise Problem("model-gone", f"model {model_id} is gone; {name} is {model.model_id} now")
    content = await run_in_threadpool(model.vector, user)
    if content is None:
        raise Problem("no-vector", "the model has no vector for this user")
    return Response(content, headers={"cache-control": "no-store"}, media_type=VECTOR)


@router.get("/healthz", responses=answers({200: documents.HealthDocument}), tags=["operations"])
async def healthz() -> Response:
    """That the process lives."""
    return _json({"status": "alive"}, cache_control="no-store")


@router.get("/readyz", responses=answers({200: documents.HealthDocument}, 503), tags=["operations"])
async def readyz(request: Request) -> Response:
    """Whether every model is loaded."""
    if not _service(request).registry.is_ready:
        raise Problem("not-ready", "not every model is loaded", headers={"retry-after": "1"})
    return _json({"status": "ready"}, cache_control="no-store")


@router.get("/metrics", responses=answers({200: "text/plain"}), tags=["operations"])
async def metrics_page(request: Request) -> Response:
    """Numbers for Prometheus."""
    text = await run_in_threadpool(_service(request).metrics_text)
    return Response(text, headers={"cache-control": "no-store"}, media_type=metrics.CONTENT_TYPE)
