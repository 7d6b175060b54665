"""Models behind addresses, against a server of S3 on this machine: published, served and read."""

import json
import shutil
from types import SimpleNamespace

import pytest

from elasticrec.data.preparation import prepare
from elasticrec.errors import InputError
from elasticrec.serve import page
from elasticrec.serve.models import Models, check_models
from elasticrec.serve.monitoring import Metrics
from elasticrec.stream.chunk import read_index
from elasticrec.stream.publish import publish
from tests.cli.running import refused, run, run_json
from tests.serve.making import servable

pytest.importorskip("s3fs")
pytest.importorskip("moto.server")
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def server():
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    yield "http://{}:{}".format(*server.get_host_and_port())
    server.stop()


@pytest.fixture
def bucket(server, monkeypatch):
    """The address of an empty bucket, and the file system that it is in."""
    import s3fs

    secrets = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
    for name, value in {**secrets, "AWS_ENDPOINT_URL": server}.items():
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()
    store = s3fs.S3FileSystem()
    if store.exists("shop"):
        store.rm("shop", recursive=True)
    store.mkdir("shop")
    yield SimpleNamespace(address="s3://shop", store=store)
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture
def books(tmp_path):
    servable(tmp_path / "books", seed=1, n_items=300)
    return tmp_path / "books"


def complete(store):
    """The entry of the list, after all that it names was found."""
    store.invalidate_cache()
    (entry,) = json.loads(store.cat_file("shop/site/models.json"))["models"]
    for file in entry["files"].values():
        assert store.exists(f"shop/site/{file}")
    assert store.info(f"shop/site/{entry['files']['stream']}")["size"] == entry["bytes"]
    return entry


def test_what_is_published_is_what_a_folder_would_hold(bucket, books, tmp_path):
    said = run("publish", books, f"{bucket.address}/site")
    run("publish", books, tmp_path / "site")
    here = {p.relative_to(tmp_path / "site").as_posix() for p in (tmp_path / "site").rglob("*.*")}
    assert {path.removeprefix("shop/site/") for path in bucket.store.find("shop/site")} == here
    for name in here:
        assert bucket.store.cat_file(f"shop/site/{name}") == (tmp_path / "site" / name).read_bytes()
    assert said.startswith(f"s3://shop/site/{complete(bucket.store)['files']['stream']}: ")
    assert "text/html" in bucket.store.info("shop/site/index.html")["ContentType"]


def test_a_publish_that_is_cut_off_anywhere_leaves_readers_the_old_model(
    bucket, books, monkeypatch
):
    old = publish(books, f"{bucket.address}/site", page=page.published())
    shutil.rmtree(books)
    servable(books, seed=2, n_items=300)
    put, room, ended = bucket.store.put_file, [0], []

    def stop(*words, **more):
        if not room[0]:
            raise KeyboardInterrupt
        room[0] -= 1
        put(*words, **more)

    for most in range(0, 100, 3):
        room[0] = most
        monkeypatch.setattr(bucket.store, "put_file", stop)
        try:
            new = publish(books, f"{bucket.address}/site", page=page.published())
        except KeyboardInterrupt:
            ended.append(most)
            assert complete(bucket.store) == old
            continue
        break
    assert len(ended) > 5
    assert complete(bucket.store) == new != old
    assert bucket.store.exists(f"shop/site/{old['files']['stream']}")


def test_old_versions_leave_in_their_turn(bucket, books):
    for seed in range(3):
        shutil.rmtree(books)
        servable(books, seed=seed, n_items=300)
        entry = publish(books, f"{bucket.address}/site", keep=1)
    found = bucket.store.find("shop/site/models/books")
    assert [path for path in found if "stream-" in path] == [
        f"shop/site/{entry['files']['stream']}"
    ]


def test_a_model_at_an_address_is_served_and_followed(bucket, books, monkeypatch):
    bucket.store.put(f"{books}/", "shop/models/books/", recursive=True)
    check_models((f"{bucket.address}/models",))
    models = Models((f"{bucket.address}/models/",), Metrics())
    models.look()
    first = models.get("books")
    assert first.facts["sha256"] == publish(books, books.parent / "site")["sha256"]
    shutil.rmtree(books)
    servable(books, seed=5, n_items=300)
    for path in books.iterdir():
        bucket.store.put_file(str(path), f"shop/models/books/{path.name}")
    models.look()
    second = models.get("books")
    assert second.facts["sha256"] != first.facts["sha256"]
    assert len(first.stream.read(0, 10_000_000)) == first.facts["bytes"]  # a download goes on

    def away(_):
        raise OSError("the store is away")

    monkeypatch.setattr(bucket.store, "exists", away)
    models.look()
    assert models.get("books") is second
    copies = models._mirrors[0].folder
    assert (copies / "books" / "stream.elastic").exists()
    models.close()
    assert not copies.exists()


@pytest.mark.parametrize("path", ["models", "models/books"])
def test_nothing_to_serve_at_an_address_is_refused(bucket, path):
    with pytest.raises(InputError, match="is no model folder and holds none"):
        check_models((f"{bucket.address}/{path}",))


def test_commands_read_models_and_streams_at_addresses(bucket, tiny_model, tmp_path):
    bucket.store.put(f"{tiny_model.root}/", "shop/tiny/", recursive=True)
    model, stream = f"{bucket.address}/tiny", f"{bucket.address}/tiny/stream.elastic"
    asked = ("--items", "1003,1070", "-k", 5)
    here = run_json("recommend", tiny_model.root, *asked)
    assert run_json("recommend", model, *asked) == here
    least = read_index(tiny_model.stream_path).head.least
    for source, name in ((model, "a"), (stream, "b")):
        run("customize", source, "--budget", least, "-o", tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert "s3://shop/none: no such file" in refused("recommend", "s3://shop/none", *asked)
    run("publish", model, f"{bucket.address}/site")
    assert complete(bucket.store)["name"] == "tiny"


def test_a_folder_may_be_named_by_an_address_too(books, tmp_path):
    entry = publish(books, f"file://{tmp_path}/site")
    assert (tmp_path / "site" / entry["files"]["stream"]).exists()


def test_data_at_an_address_are_prepared(bucket, tmp_path):
    rows = [f"u{u},{i},{9 * u + i}\n" for u in range(20) for i in range(12)]
    (tmp_path / "whole.csv").write_text("user,item,time\n" + "".join(rows))
    for k in range(3):
        part = "user,item,time\n" + "".join(rows[k::3])
        bucket.store.pipe_file(f"shop/log/day={k}/part.csv", part.encode())
    bucket.store.pipe_file("shop/log/_SUCCESS", b"")
    for source, name in (
        (tmp_path / "whole.csv", "here"),
        (f"{bucket.address}/log/", "folder"),
        (f"{bucket.address}/log/*/part.csv", "pattern"),
    ):
        run("data", "prepare", source, "--name", "shop", "-o", tmp_path / f"{name}.npz")
    files = [tmp_path / f"{name}.npz" for name in ("here", "folder", "pattern")]
    assert len({file.read_bytes() for file in files}) == 1
    bucket.store.put_file(str(tmp_path / "here.npz"), "shop/split.npz")
    loaded = prepare(f"{bucket.address}/split.npz")
    assert loaded.fingerprint() == prepare(tmp_path / "here.npz").fingerprint()
    bucket.store.pipe_file("shop/log/day=9/part.csv", b"user,item,time\na,,3\n")
    address = f"{bucket.address}/log/day=9/part.csv"
    said = refused("data", "prepare", f"{bucket.address}/log/", "-o", tmp_path / "no.npz")
    assert f"{address} line 2: the item is missing" in said
    assert "s3://moon/log/: format unknown" in refused("data", "prepare", "s3://moon/log/")
