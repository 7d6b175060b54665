"""The OpenAPI page is true: schemathesis asks everything that it allows, and what it does not."""

import re

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings

from elasticrec.serve.problems import KINDS


def test_every_route_is_described(client):
    page = client.get("/openapi.json").json()
    assert set(page["paths"]) == {
        "/v1/models",
        "/v1/models/{name}/curve",
        "/v1/models/{name}/bundles",
        "/v1/bundles/{sha256}",
        "/v1/bundles/{sha256}/upgrade",
        "/v1/catalogues/{sha256}",
        "/v1/models/{name}/users/{user}/vector",
        "/healthz",
        "/readyz",
        "/metrics",
    }
    names = []
    for path in page["paths"].values():
        assert set(path) == {"get", "head"}
        names += [operation["operationId"] for operation in path.values()]
        assert "422" not in path["get"]["responses"]
    assert len(names) == len(set(names))
    kinds = page["components"]["schemas"]["ProblemDocument"]["properties"]["type"]["pattern"]
    assert all(re.fullmatch(kinds, f"urn:elasticrec:problem:{kind}") for kind in KINDS)
    security = page["paths"]["/v1/models/{name}/users/{user}/vector"]["get"]["security"]
    assert security == [{"HTTPBearer": []}]
