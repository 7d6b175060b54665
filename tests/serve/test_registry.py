"""New versions are taken up without a restart, also under load; models that are gone are gone."""

import os
import shutil
import threading

import pytest

from elasticrec.blocks.folder import ModelFolder
from elasticrec.errors import InputError
from elasticrec.serve.registry import check_models, find_models
from tests.serve.making import servable


@pytest.fixture
def client(start, models):
    return start(models=(models,))


def model_ids(client):
    return {model["name"]: model["model_id"] for model in client.get("/v1/models").json()["models"]}


def replace_model(models, name, **settings):
    """Put another model in the place of one, as a deployment does: beside it, then by rename."""
    servable(models.parent / "next", **settings)
    os.rename(models / name, models.parent / "previous")
    os.rename(models.parent / "next", models / name)


def test_a_new_version_takes_the_place_of_the_old(client, models, keys):
    old = client.about("60KB")
    replace_model(models, "books", seed=7)
    client.until(lambda: client.about("60KB")["model_id"] != old["model_id"])
    new = client.about("60KB")
    assert new["sha256"] != old["sha256"]
    assert client.get(old["url"]).status_code == 200  # until it must leave the shelf
    assert client.get(old["catalogue"]["url"]).status_code == 200
    upgrade = f"/v1/bundles/{old['sha256']}/upgrade?to={new['sha256']}"
    assert client.get(upgrade).status_code == 409
    token = {"authorization": f"Bearer {keys.sign('books', 'u1', 60)}"}
    vector = f"/v1/models/books/users/u1/vector?model_id={old['model_id']}"
    assert client.get(vector, token).status_code == 410


def test_the_switch_is_not_noticed_by_clients(client, models):
    old = client.about("60KB")
    content = client.get(old["url"]).content
    statuses, stop = [], threading.Event()

    def ask():
        while not stop.is_set():
            statuses.append(client.get("/v1/models/books/bundles?budget=60KB").status_code)
            download = client.get(old["url"])
            statuses.append(download.status_code if download.content == content else 0)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    replace_model(models, "books", seed=8)
    client.until(lambda: client.about("60KB")["model_id"] != old["model_id"])
    stop.set()
    for thread in threads:
        thread.join()
    assert set(statuses) == {307, 200}
    assert len(statuses) > 20


def test_another_estimator_is_another_version_of_the_same_model(client, models, tmp_path):
    old = client.about("60KB")
    folder, other = ModelFolder.open(models / "books"), tmp_path / "other"
    servable(other, width=0)
    shutil.copy(other / "estimator.safetensors", folder.path("estimator"))
    sources = ("table", "groups", "menu", "codes", "neighbours", "mixing")
    folder.record("estimator", ModelFolder.open(other).fingerprint("estimator"), sources)
    client.until(lambda: client.about("60KB")["estimate"] != old["estimate"])
    assert client.about("60KB")["model_id"] == old["model_id"]


def test_a_link_may_be_turned(start, models, tmp_path):
    link = tmp_path / "current"
    link.symlink_to(models / "books")
    client = start(models=(link,))
    before = model_ids(client)
    assert list(before) == ["current"]
    turned = tmp_path / "turned"
    turned.symlink_to(models / "films")
    os.replace(turned, link)
    client.until(lambda: model_ids(client) != before)
    assert list(model_ids(client)) == ["current"]


def test_a_broken_version_leaves_the_old_one_in_place(client, models):
    old = client.about("60KB")
    path = models / "books" / "codes.npz"
    content = path.read_bytes()
    path.write_bytes(content[:5_000] + bytes([content[5_000] ^ 1]) + content[5_001:])
    ModelFolder.open(models / "books").describe(trained="2026-02-03T00:00:00")
    failures = client.service.metrics.failures.values
    client.until(lambda: failures.get(("books",), [0])[0] >= 2)
    assert client.about("60KB") == old
    assert client.get("/readyz").status_code == 200
    path.write_bytes(content)
    client.until(lambda: client.about("60KB")["trained"] != old["trained"])


def test_models_come_and_go(client, models, keys):
    servable(models / "songs", seed=5, n_items=400, n_groups=2)
    client.until(lambda: "songs" in model_ids(client))
    old = client.about("30KB", "songs")
    shutil.rmtree(models / "songs")
    client.until(lambda: "songs" not in model_ids(client))
    token = {"authorization": f"Bearer {keys.sign('songs', 'u1', 60)}"}
    for path in ("curve", "bundles?budget=30KB", "users/u1/vector"):
        answer = client.get(f"/v1/models/songs/{path}", token)
        assert answer.status_code == 410
        assert answer.json()["type"] == "urn:elasticrec:problem:model-gone"
    assert client.get("/v1/models/songs/users/u1/vector").status_code == 401
    assert client.get("/v1/models/tunes/curve").status_code == 404
    assert client.get(old["url"]).status_code == 200
    assert client.get("/readyz").status_code == 200


def test_a_model_that_is_gone_is_so_after_a_restart_too(start, models):
    start(models=(models,))
    assert start(models=(models / "films",)).get("/v1/models/books/curve").status_code == 410


def test_what_is_found_in_folders(models, tmp_path):
    (models / "notes").mkdir()
    (models / "a b").mkdir()
    (models / "a b" / "model.json").write_text("{}")
    assert list(find_models((models,))) == ["books", "films"]
    assert list(find_models((models / "films",))) == ["films"]
    assert find_models((tmp_path / "nothing",)) == {}


def test_folders_without_models_are_refused(tmp_path, models):
    check_models((models,))
    with pytest.raises(InputError, match="is no model folder and holds none"):
        check_models((tmp_path / "nothing",))
    ModelFolder.create(tmp_path / "empty").describe(nothing=1)
    with pytest.raises(InputError, match="has no split, table, groups, menu, codes"):
        check_models((tmp_path / "empty",))
