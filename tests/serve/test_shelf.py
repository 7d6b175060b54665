"""Find or make: one search per new budget, in one process and in several."""

import json
import os
import subprocess
import sys
import time
from collections import Counter

import pytest

from elasticrec.serve import files
from elasticrec.serve.course import Course
from elasticrec.serve.kept import Kept
from elasticrec.serve.metrics import Metrics
from elasticrec.serve.models import load
from elasticrec.serve.shelf import Shelf


@pytest.fixture
def searches(monkeypatch):
    """Counts the searches of each step, which take a while here."""
    counted, search = Counter(), Course.search

    def slowly(course, step, *more):
        counted[step] += 1
        time.sleep(0.2)
        return search(course, step, *more)

    monkeypatch.setattr(Course, "search", slowly)
    return counted


def test_300_clients_cause_one_search(client, searches):
    answers = client.get_many(["/v1/models/books/bundles?budget=80KB"] * 300)
    assert {answer.status_code for answer in answers} == {307}
    assert len({answer.headers["location"] for answer in answers}) == 1
    assert searches == {80_000: 1}
    assert client.service.metrics.packs.values == {("books",): [1.0]}
    client.get("/v1/models/books/bundles?budget=80KB")
    assert searches == {80_000: 1}


def test_300_clients_of_ten_budgets_cause_ten_searches(client, searches):
    sizes = [20, 25, 30, 40, 50, 60, 80, 90, 100, 110]
    urls = [f"/v1/models/books/bundles?budget={size}KB" for size in sizes] * 30
    answers = client.get_many(urls)
    assert {answer.status_code for answer in answers} == {307}
    assert searches == {size * 1_000: 1 for size in sizes}


PROCESS = """
import asyncio, json, sys, time
from pathlib import Path
from elasticrec.serve.config import ServeConfig
from elasticrec.serve.metrics import Metrics
from elasticrec.serve.models import load
from elasticrec.serve.shelf import Shelf
from elasticrec.space.budget import Budget
config = ServeConfig.from_json(sys.argv[1])
metrics = Metrics()
shelf, model = Shelf(config, metrics), load("books", config.models[0], config)
print("ready", flush=True)
sys.stdin.readline()
async def ask():
    some = [shelf.bundle_for(model, Budget(80_000)) for _ in range(20)]
    return {kept.sha256 for kept in await asyncio.gather(*some)}
found = asyncio.run(ask())
print(json.dumps([sorted(found), sum(v[0] for v in metrics.searches.values.values())]), flush=True)
"""


def test_processes_that_share_a_shelf_search_once(client, made_models):
    config = client.service.config
    text = json.dumps(json.loads(config.to_json()) | {"models": [str(made_models / "books")]})
    command = [sys.executable, "-c", PROCESS, text]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen(command, **pipes) for _ in range(3)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = [json.loads(process.communicate(timeout=60)[0]) for process in processes]
    assert sum(searches for _, searches in answers) == 1
    assert {tuple(hashes) for hashes, _ in answers} == {tuple(answers[0][0])}
    assert client.about("80KB")["sha256"] == answers[0][0][0]
    assert client.service.metrics.searches.values == {}


def test_what_left_the_shelf_is_packed_again_without_a_search(start, searches):
    client = start()
    first, store = client.about("90KB"), client.service.shelf.store
    store.limit_bytes = store.usage()[1] + 20_000
    os.utime(store.root / f"{first['sha256']}.elastic", (1, 1))
    client.about("100KB")
    assert client.get(first["url"]).status_code == 404
    assert client.about("90KB") == first
    assert client.get(first["url"]).status_code == 200
    assert searches == {90_000: 1, 100_000: 1}


def test_equal_settings_make_equal_bundles_in_any_order(start, tmp_path):
    sizes = ("150KB", "20KB", "60KB")
    one, two = start(), start(shelf=tmp_path / "another")
    found = {size: one.about(size)["sha256"] for size in sizes}
    assert {size: two.about(size)["sha256"] for size in sorted(sizes)} == found


def test_a_restart_finds_what_was_made(start, searches):
    first = start().about("60KB")
    again = start()
    assert again.about("60KB") == first
    assert again.get(first["url"]).status_code == 200
    assert searches == {60_000: 1}


def test_too_many_new_budgets_at_once_are_refused(start, searches):
    client = start(waiting=2, searches=1, retry_seconds=7)
    sizes = ("30KB", "40KB", "50KB", "60KB")
    answers = client.get_many([f"/v1/models/books/bundles?budget={size}" for size in sizes])
    assert sorted(answer.status_code for answer in answers) == [307, 307, 503, 503]
    refused = next(answer for answer in answers if answer.status_code == 503)
    assert refused.json()["type"] == "urn:elasticrec:problem:busy"
    assert refused.headers["retry-after"] == "7"


def test_who_waits_too_long_is_told_to_come_back(start, searches):
    client = start(search_seconds=0.05)
    url = "/v1/models/books/bundles?budget=60KB"
    answer = client.get(url)
    assert answer.status_code == 503
    assert "it goes on" in answer.json()["detail"]
    client.until(lambda: client.get(url).status_code == 307)
    assert searches == {60_000: 1}


def test_a_failed_search_is_a_mistake_and_may_be_tried_again(client, monkeypatch):
    with monkeypatch.context() as broken:
        broken.setattr(Course, "search", lambda *_: 1 / 0)
        answer = client.get("/v1/models/books/bundles?budget=60KB")
        assert answer.status_code == 500
        assert answer.json()["type"] == "urn:elasticrec:problem:internal"
        assert "ZeroDivision" not in answer.text
    assert client.get("/v1/models/books/bundles?budget=60KB").status_code == 307


def test_planning_ahead_searches_every_step_and_packs_nothing(start):
    client = start(plan_ahead=True, steps=(20_000, 40_000, 80_000, 200_000))
    service, url = client.service, "/v1/models/{}/curve"

    def planned():  # who asks over HTTP would disturb it
        models = list(service.registry.now.values())
        points = [point for model in models for point in service.shelf.curve(model)]
        return len(models) == 2 and all(point.searched for point in points)

    client.until(planned)
    points = [client.get(url.format(n)).json()["points"] for n in ("books", "films")]
    assert all(point["searched"] for some in points for point in some)
    assert client.service.metrics.packs.values == {}
    searched = dict(client.service.metrics.searches.values)
    client.about("80KB")
    assert client.service.metrics.searches.values == searched


def test_nothing_is_planned_while_somebody_asks(start, monkeypatch):
    class Asked(Metrics):
        def __init__(self):
            super().__init__()
            self.asked = time.monotonic()  # just now

    monkeypatch.setattr("elasticrec.serve.service.Metrics", Asked)
    monkeypatch.setattr("elasticrec.serve.service.QUIET_SECONDS", 30.0)
    client = start(plan_ahead=True, steps=(20_000, 40_000))
    time.sleep(0.5)
    models = client.service.registry.now.values()
    points = [point for model in models for point in client.service.shelf.curve(model)]
    assert points
    assert not any(point.searched for point in points)
    before = client.service.metrics.asked
    client.get("/healthz")
    assert client.service.metrics.asked == before
    client.get("/v1/models")
    assert client.service.metrics.asked > before


def test_bundles_of_neighbouring_steps_share_their_core(made_models, tmp_path, start):
    client = start()
    config = client.service.config
    model = load("books", made_models / "books", config)
    shelf = Shelf(config, Metrics())
    for before, step in zip(model.steps.sizes[4:], model.steps.sizes[5:12], strict=False):
        kept = shelf.make(model, step)
        core = model.course.within(before)[0]
        depths = kept.about["composition"]["depths"]
        assert (core.depths <= depths).all()
        assert (core.neighbours <= kept.about["composition"]["neighbours"]).all()
        assert kept.n_bytes + model.vector_bytes <= step


def test_a_download_goes_on_while_its_file_leaves(client, monkeypatch):
    about = client.about("90KB")
    content = client.get(about["url"]).content
    monkeypatch.setattr(files, "CHUNK_BYTES", 10_000)
    store, got = client.service.shelf.store, []

    async def send(message):
        got.append(message.get("body", b""))
        if len(got) == 3:  # the start and two parts
            store.limit_bytes = 1
            client.service.shelf.store.put(Kept.addressed(".elastic", b"new", {}), b"new")
            assert store.find(f"{about['sha256']}.elastic") is None

    async def download():
        scope = {"type": "http", "method": "GET", "path": about["url"], "query_string": b""}
        scope |= {"headers": [], "raw_path": about["url"].encode()}
        await client.app(scope, None, send)

    client.run(download())
    assert b"".join(got) == content
    assert client.get(about["url"]).status_code == 404
