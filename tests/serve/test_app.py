"""Every route, as a client sees it."""

import hashlib
import json

import pytest

import elasticrec_device as device

SHA = "0" * 64


def test_models(client):
    answer = client.get("/v1/models")
    assert answer.status_code == 200
    books, films = answer.json()["models"]
    assert (books["name"], films["name"]) == ("books", "films")
    assert (books["n_items"], books["n_groups"], books["n_blocks"]) == (3_000, 6, 4)
    assert (books["person"], films["person"]) == ("vector+history", "history")
    assert (books["vector_bytes"], films["vector_bytes"]) == (48 + 2 * 32, 0)
    assert books["smallest_budget"] == books["steps"][0]
    assert books["steps"][-2] < books["full_bytes"] <= books["steps"][-1]
    assert books["trained"] == 1_767_323_045
    assert answer.headers["cache-control"] == "public, max-age=60"


def test_a_budget_leads_to_its_bundle(client):
    answer = client.get("/v1/models/books/bundles?budget=77KB")
    assert answer.status_code == 307
    assert answer.content == b""
    assert answer.headers["cache-control"] == "public, max-age=60"
    assert answer.headers["vary"] == "Accept"
    place = answer.headers["location"]
    found = client.get(place)
    assert found.status_code == 200
    assert place == f"/v1/bundles/{hashlib.sha256(found.content).hexdigest()}"
    assert found.headers["etag"] == f'"{place.rpartition("/")[2]}"'
    assert found.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert found.headers["content-type"] == "application/vnd.elasticrec.bundle"
    assert "content-encoding" not in found.headers
    assert int(found.headers["content-length"]) == len(found.content)


def test_about_a_bundle(client, tmp_path):
    about = client.about("77KB")
    assert (about["budget_bytes"], about["step_bytes"]) == (77_000, 70_000)
    content = client.get(about["url"]).content
    assert about["file_bytes"] == len(content) <= 70_000 - about["vector_bytes"]
    path = tmp_path / "books.elastic"
    path.write_bytes(content)
    with device.open(path, sha256=about["sha256"]) as bundle:
        info = bundle.info()
        assert info["model_id"] == about["model_id"]
        assert info["meta"]["name"] == "books"
        assert info["meta"]["estimate"] == about["estimate"]
        assert info["meta"]["budget"] == 70_000
        assert len(bundle.recommend([1, 2, 3], k=10)) == 10
    sizes = about["composition"]["group_sizes"]
    assert (sum(sizes), len(about["composition"]["depths"])) == (3_000, len(sizes))


def test_json_or_the_bundle_as_the_client_wants(client):
    url = "/v1/models/books/bundles?budget=50KB"
    answer = client.get(url, {"accept": "application/json"})
    assert answer.status_code == 200
    assert answer.headers["vary"] == "Accept"
    assert answer.headers["cache-control"] == "public, max-age=60"
    assert client.get(url, {"accept": "text/html,*/*;q=0.8"}).status_code == 307


def test_budgets_round_down_to_steps(client):
    assert client.about("10000")["sha256"] == client.about("10.99KB")["sha256"]
    assert client.about("11KB")["sha256"] != client.about("10.99KB")["sha256"]
    everything = {client.about(size)["sha256"] for size in ("900KB", "1GB", "999999999GiB")}
    assert len(everything) == 1
    full = client.get("/v1/models").json()["models"][0]["full_bytes"]
    about = client.about("1GB")
    assert about["file_bytes"] + about["vector_bytes"] == full


def test_a_budget_too_small_says_what_works(client):
    answer = client.get("/v1/models/books/bundles?budget=9999")
    assert answer.status_code == 404
    problem = answer.json()
    assert problem["type"] == "urn:elasticrec:problem:budget-too-small"
    client.about(problem["smallest_budget"])


@pytest.mark.parametrize("budget", ["", "x", "-1", "1.5", "5XB", "5 M B", "9" * 19, "1e6", "5MB\n"])
def test_malformed_budgets_are_refused(client, budget):
    answer = client.get("/v1/models/books/bundles", params={"budget": budget})
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith("budget: expected 5MB, 512KB")


def test_a_missing_budget_is_refused(client):
    assert client.get("/v1/models/books/bundles").status_code == 400


def test_curve_rises_with_size(client):
    curve = client.get("/v1/models/books/curve").json()
    points = curve["points"]
    steps = client.get("/v1/models").json()["models"][0]["steps"]
    assert [point["budget_bytes"] for point in points] == steps
    estimates = [point["estimate"] for point in points]
    assert estimates == sorted(estimates)
    assert not any(point["searched"] for point in points)
    about = client.about(steps[4])
    after = client.get("/v1/models/books/curve").json()["points"]
    assert [point["searched"] for point in after] == [n == 4 for n in range(len(steps))]
    assert after[4]["estimate"] == about["estimate"] >= points[4]["estimate"]
    assert after[4]["file_bytes"] == about["file_bytes"]


def test_upgrade_makes_the_larger_bundle_of_the_smaller(client, tmp_path):
    small, large = client.about("60KB"), client.about("120KB")
    url = f"/v1/bundles/{small['sha256']}/upgrade?to={large['sha256']}"
    answer = client.get(url)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/vnd.elasticrec.patch"
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert len(answer.content) < 0.7 * large["file_bytes"]
    (tmp_path / "old").write_bytes(client.get(small["url"]).content)
    (tmp_path / "patch").write_bytes(answer.content)
    device.apply_patch(tmp_path / "old", tmp_path / "patch", tmp_path / "new")
    assert (tmp_path / "new").read_bytes() == client.get(large["url"]).content
    tag = answer.headers["etag"]
    assert client.get(url, {"if-none-match": tag}).status_code == 304
    assert client.get(url, {"range": "bytes=5-9"}).content == answer.content[5:10]
    assert client.service.metrics.patches.values == {(): [1.0]}


def test_upgrades_between_models_and_of_unknown_bundles_are_refused(client):
    books, films = client.about("60KB")["sha256"], client.about("12KB", "films")["sha256"]
    answer = client.get(f"/v1/bundles/{books}/upgrade?to={films}")
    assert answer.status_code == 409
    assert answer.json()["type"] == "urn:elasticrec:problem:different-models"
    assert client.get(f"/v1/bundles/{books}/upgrade?to={SHA}").status_code == 404
    assert client.get(f"/v1/bundles/{SHA}/upgrade?to={books}").status_code == 404
    assert client.get(f"/v1/bundles/{books}/upgrade").status_code == 400
    assert client.get(f"/v1/bundles/{books}/upgrade?to=..%2F..").status_code == 400


def test_catalogue(client, tmp_path):
    about = client.about("60KB")
    answer = client.get(about["catalogue"]["url"])
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert hashlib.sha256(answer.content).hexdigest() == about["catalogue"]["sha256"]
    content = json.loads(answer.content)
    assert content["ids"][:2] == ["i0", "i1"]
    assert content["titles"][1] == "Book 1 – ein Buch"
    path = tmp_path / "catalogue.json"
    path.write_bytes(answer.content)
    (tmp_path / "bundle").write_bytes(client.get(about["url"]).content)
    with device.open(tmp_path / "bundle") as bundle:
        bundle.catalogue(path)
    assert client.get(f"/v1/catalogues/{SHA}").status_code == 404
    bundle_as_catalogue = client.get(f"/v1/catalogues/{about['sha256']}")
    assert bundle_as_catalogue.status_code == 404


def test_health_and_readiness(start):
    client = start(ready=False)
    assert client.get("/healthz").json() == {"status": "alive"}
    assert client.ready().get("/readyz").json() == {"status": "ready"}
    assert client.get("/readyz").headers["cache-control"] == "no-store"


def test_not_ready_says_when_to_ask_again(start, models, tmp_path):
    (models / "books" / "codes.npz").write_bytes(b"being written")
    client = start(ready=False, models=(models,))
    client.until(lambda: client.get("/v1/models/films/curve").status_code == 200)
    for url in ("/readyz", "/v1/models/books/curve"):
        answer = client.get(url)
        assert answer.status_code == 503
        assert answer.json()["type"] == "urn:elasticrec:problem:not-ready"
        assert answer.headers["retry-after"] == "1"


def test_head_is_get_without_a_body(client):
    url = client.about("60KB")["url"]
    for path in (url, "/v1/models", "/v1/models/books/bundles?budget=60KB", "/metrics"):
        whole, head = client.get(path), client.get(path, method="HEAD")
        assert head.status_code == whole.status_code
        assert head.content == b""
        if path != "/metrics":
            assert head.headers["content-length"] == str(len(whole.content))
    assert client.get(url, {"range": "bytes=0-9"}, method="HEAD").status_code == 200


def test_browsers_of_other_sites_may_read_what_is_public(client):
    url = client.about("60KB")["url"]
    for path in (url, "/v1/models/books/curve", "/v1/models/books/bundles?budget=60KB"):
        answer = client.get(path, {"origin": "https://shop.example"})
        assert answer.headers["access-control-allow-origin"] == "*"
        assert "ETag" in answer.headers["access-control-expose-headers"]
    asked = {"origin": "https://shop.example", "access-control-request-method": "GET"}
    allowed = client.get(url, asked, method="OPTIONS")
    assert allowed.status_code == 204
    assert "If-None-Match" in allowed.headers["access-control-allow-headers"]
    private = "/v1/models/books/users/u1/vector"
    assert "access-control-allow-origin" not in client.get(private).headers
    assert client.get(private, asked, method="OPTIONS").status_code == 405


@pytest.mark.parametrize("prefix", ["", "/rec"])  # a proxy may strip it, or uvicorn may add it
def test_links_stay_behind_a_proxys_prefix(client, prefix):
    started = []

    async def send(message):
        started.append(message)

    async def ask(path, query):
        scope = {"type": "http", "method": "GET", "path": prefix + path, "query_string": query}
        scope |= {"headers": [], "raw_path": path.encode(), "root_path": "/rec"}
        await client.app(scope, None, send)

    client.run(ask("/v1/models/books/bundles", b"budget=60KB"))
    headers = dict(started[0]["headers"])
    assert headers[b"location"].startswith(b"/rec/v1/bundles/")
    assert headers[b"access-control-allow-origin"] == b"*"
    client.run(ask("/v1/models", b""))
    assert json.loads(started[3]["body"])["models"][0]["curve"] == "/rec/v1/models/books/curve"
    client.run(ask("/v1/models/books/users/u1/vector", b""))
    assert started[4]["status"] == 401
    assert b"access-control-allow-origin" not in dict(started[4]["headers"])
