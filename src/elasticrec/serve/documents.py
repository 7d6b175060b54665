"""The JSON documents of the service, as its OpenAPI page describes them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from elasticrec.serve.kept import Kept
from elasticrec.serve.models import Served
from elasticrec.serve.problems import KINDS, PREFIX
from elasticrec.serve.shelf import Point

SHA256 = "^[0-9a-f]{64}$"


class Document(BaseModel):
    """What all documents share."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=())


class CatalogueLink(Document):
    """Where ids and titles are."""

    sha256: str = Field(pattern=SHA256, description="Hash that bundles hold.")
    url: str = Field(description="Path on this host.")


class ModelDocument(Document):
    """One model."""

    name: str = Field(description="Its name in URLs.")
    model_id: str = Field(pattern=SHA256, description="Changes with every training.")
    n_items: int = Field(ge=1, description="Items of the catalogue.")
    n_groups: int = Field(ge=1, description="Groups of items that are treated alike.")
    n_blocks: int = Field(ge=1, description="Blocks of eight numbers per item.")
    person: str = Field(description="Whom bundles are for: vector+history or history.")
    metric: str = Field(description="What estimates estimate.")
    trained: int = Field(ge=0, description="Seconds since 1970; 0 where it is not known.")
    loaded: int = Field(ge=0, description="When this version was taken up, seconds since 1970.")
    vector_bytes: int = Field(ge=0, description="What a person's vector takes of a budget.")
    smallest_budget: int = Field(ge=1, description="The first step in bytes.")
    full_bytes: int = Field(ge=1, description="What everything takes; more is of no use.")
    steps: list[int] = Field(description="Bytes to which budgets are rounded down.")
    catalogue: CatalogueLink
    curve: str = Field(description="Path of the curve.")
    bundles: str = Field(description="Path of the bundles; add ?budget=")


class ModelsDocument(Document):
    """All models."""

    models: list[ModelDocument]


class PointDocument(Document):
    """One step of the curve."""

    budget_bytes: int = Field(ge=1, description="The step.")
    file_bytes: int = Field(ge=1, description="Length of the bundle.")
    estimate: float = Field(description="Estimated quality.")
    searched: bool = Field(description="False: what greedy keeps, as no search was there yet.")


class CurveDocument(Document):
    """Size against quality."""

    model: str
    model_id: str = Field(pattern=SHA256)
    metric: str
    person: str
    points: list[PointDocument]


class CompositionDocument(Document):
    """What each group keeps."""

    group_sizes: list[int] = Field(description="Items of each group.")
    depths: list[list[int]] = Field(description="Planes kept of each block, group by group.")
    neighbours: list[int] = Field(description="Neighbours per item of each group.")


class BundleDocument(Document):
    """One bundle."""

    model: str
    model_id: str = Field(pattern=SHA256)
    budget_bytes: int = Field(ge=1, description="As asked for.")
    step_bytes: int = Field(ge=1, description="What it was rounded down to.")
    file_bytes: int = Field(ge=1, description="Length of the file.")
    vector_bytes: int = Field(ge=0, description="Kept free for a person's vector.")
    sha256: str = Field(pattern=SHA256, description="Hash of the file, and its ETag.")
    url: str = Field(description="Path on this host.")
    metric: str
    estimate: float = Field(description="Estimated quality.")
    person: str
    trained: int = Field(ge=0)
    catalogue: CatalogueLink
    composition: CompositionDocument


class CatalogueDocument(Document):
    """Ids and titles of all items, in the order of the bundles."""

    format: str
    model_id: str = Field(pattern=SHA256)
    id_kind: Literal["integer", "string"]
    ids: list[str]
    titles: list[str | None] | None


class HealthDocument(Document):
    """That the service lives, or is ready."""

    status: str


class ProblemDocument(BaseModel):
    """Why a request was refused (RFC 9457)."""

    type: str = Field(pattern=f"^{PREFIX}({'|'.join(KINDS)})$")
    title: str
    status: int = Field(ge=400, le=599)
    detail: str
    request_id: str
    smallest_budget: int = Field(default=1, ge=1, description="Where the budget was too small.")


def catalogue_link(root: str, sha256: str) -> dict[str, str]:
    """Where a catalogue is; `root` is the path that a proxy puts before all others."""
    return {"sha256": sha256, "url": f"{root}/v1/catalogues/{sha256}"}


def model_document(model: Served, root: str) -> dict[str, Any]:
    """One model."""
    codes, path = model.material.codes, f"{root}/v1/models/{model.name}"
    return {
        "name": model.name,
        "model_id": model.model_id,
        "n_items": codes.n_items,
        "n_groups": codes.n_groups,
        "n_blocks": codes.n_blocks,
        "person": model.material.person,
        "metric": model.metric,
        "trained": model.material.trained,
        "loaded": int(model.loaded),
        "vector_bytes": model.vector_bytes,
        "smallest_budget": model.steps.sizes[0],
        "full_bytes": model.course.full_bytes,
        "steps": list(model.steps.sizes),
        "catalogue": catalogue_link(root, model.catalogue_sha256),
        "curve": f"{path}/curve",
        "bundles": f"{path}/bundles",
    }


def curve_document(model: Served, points: list[Point]) -> dict[str, Any]:
    """Size against quality."""
    return {
        "model": model.name,
        "model_id": model.model_id,
        "metric": model.metric,
        "person": model.material.person,
        "points": [
            {
                "budget_bytes": point.step,
                "file_bytes": point.file_bytes,
                "estimate": round(point.estimate, 6),
                "searched": point.searched,
            }
            for point in points
        ],
    }


def bundle_document(bundle: Kept, budget_bytes: int, root: str) -> dict[str, Any]:
    """One bundle."""
    about = dict(bundle.about)
    return {
        "model": about["model"],
        "model_id": about["model_id"],
        "budget_bytes": budget_bytes,
        "step_bytes": about["step"],
        "sha256": bundle.sha256,
        "url": f"{root}/v1/bundles/{bundle.sha256}",
        "catalogue": catalogue_link(root, about["catalogue_sha256"]),
        **{
            name: about[name]
            for name in ("file_bytes", "vector_bytes", "metric", "estimate", "person", "trained")
        },
        "composition": about["composition"],
    }
