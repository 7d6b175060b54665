"""A published folder: complete, atomic for readers, and sound behind a static host."""

import gzip
import json
import shutil
import time
import urllib.error
import urllib.request
from urllib.parse import urljoin

import pytest
from typer.testing import CliRunner

from elasticrec.cli.main import app
from elasticrec.errors import InputError
from elasticrec.serve import page
from elasticrec.stream import publish as module
from elasticrec.stream.chunk import read_index
from elasticrec.stream.publish import publish
from elasticrec.stream.side_files import WithdrawnList
from tests.serve.making import servable
from tests.serve.nginx import serving
from tests.stream.reference_file import verified


@pytest.fixture
def books(made_models, tmp_path):
    shutil.copytree(made_models / "books", tmp_path / "books")
    return tmp_path / "books"


def entries(place):
    listed = json.loads((place / "models.json").read_text())
    assert listed["format"] == "elasticrec models 1"
    return {each["name"]: each for each in listed["models"]}


def test_everything_that_the_list_names_is_there(books, tmp_path):
    place = tmp_path / "site"
    entry = publish(books, place, page=page.published())
    assert entries(place) == {"books": entry}
    files = entry["files"]
    assert (place / files["stream"]).read_bytes() == (books / "stream.elastic").read_bytes()
    for part in ("curve", "catalogue"):
        content = (books / f"{part}.json").read_bytes()
        assert (place / files[part]).read_bytes() == content
    packed = (place / (files["catalogue"] + ".gz")).read_bytes()
    assert gzip.decompress(packed) == (books / "catalogue.json").read_bytes()
    assert entry["sha256"][:16] in files["stream"]
    for name, content in page.published().items():
        assert (place / name).read_bytes() == content
    assert b'href="models.json" as="fetch"' in (place / "index.html").read_bytes()


def test_the_list_is_that_of_the_service_but_for_links(books, tmp_path, client):
    entry = publish(books, tmp_path / "site")
    served = client.get("/models/books").json()
    etag = served.pop("etag")
    assert etag == f'"{entry["sha256"]}-{entry["bytes"]}"'
    assert {**entry, "files": 0} == {**served, "files": 0}
    assert entry["files"].keys() == served["files"].keys()


def test_publishing_again_changes_nothing(books, tmp_path):
    place = tmp_path / "site"
    publish(books, place, page=page.published())
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    publish(books, place, page=page.published())
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before


def test_several_models_stand_in_one_list(books, made_models, tmp_path):
    place = tmp_path / "site"
    publish(books, place)
    publish(made_models / "films", place)
    publish(books, place, name="again")
    assert list(entries(place)) == ["again", "books", "films"]


def test_old_versions_stay_and_leave_in_their_turn(books, tmp_path):
    place, streams = tmp_path / "site", []
    for seed in range(5):
        shutil.rmtree(books)
        servable(books, seed=seed, n_items=300)
        entry = publish(books, place, keep=3)
        streams.append(place / entry["files"]["stream"])
        assert streams[-1].exists()
        time.sleep(0.01)
    assert [path.exists() for path in streams] == [False, False, True, True, True]
    found = sorted(path.name.partition("-")[0] for path in (place / "models" / "books").iterdir())
    assert found == ["catalogue"] * 6 + ["curve"] * 1 + ["stream"] * 3


def test_a_withdrawn_list_changes_no_stream(books, tmp_path):
    place = tmp_path / "site"
    before = publish(books, place)
    (books / "withdrawn.list").write_bytes(WithdrawnList(before["model_id"], [3]).pack())
    after = publish(books, place)
    withdrawn = after["files"].pop("withdrawn")
    popular = [[each["number"] for each in entry.pop("popular")] for entry in (before, after)]
    assert popular == [[*range(12)], [0, 1, 2, *range(4, 13)]]
    assert after == before
    assert (place / withdrawn).read_bytes() == (books / "withdrawn.list").read_bytes()


def test_a_reader_sees_the_old_list_or_the_new_one(books, tmp_path, monkeypatch):
    place = tmp_path / "site"
    publish(books, place)
    before = (place / "models.json").read_bytes()
    shutil.rmtree(books)
    servable(books, seed=3, n_items=300)
    written, write, room = [], module._write, [0]

    def stop(path, parts, **how):
        if len(written) == room[0]:
            raise KeyboardInterrupt
        written.append(path)
        write(path, parts, **how)

    monkeypatch.setattr(module, "_write", stop)
    for room[0] in range(5):
        written.clear()
        with pytest.raises(KeyboardInterrupt):
            publish(books, place)
        assert (place / "models.json").read_bytes() == before
        for link in entries(place)["books"]["files"].values():
            assert (place / link).exists()
    room[0] = 5
    written.clear()
    publish(books, place)
    assert written[-1] == place / "models.json"


def test_signing(books, tmp_path):
    pytest.importorskip("cryptography")
    from elasticrec.stream.side_files import load_key, new_key

    public = bytes.fromhex(new_key(tmp_path / "key").read_text())
    model_id = read_index(books / "stream.elastic").head.model_id.hex()
    (books / "withdrawn.list").write_bytes(WithdrawnList(model_id, [3]).pack())
    entry = publish(books, tmp_path / "site", key=load_key(tmp_path / "key"))
    assert entry["signed"]
    signed = tmp_path / "site" / entry["files"]["stream"]
    index, plain = read_index(signed), read_index(books / "stream.elastic")
    verified(index.head.signed_part(), index.head.signature, public, "the head")
    head_bytes = 276 + len(index.head.empty)
    assert signed.read_bytes()[head_bytes:] == (books / "stream.elastic").read_bytes()[head_bytes:]
    assert index.headers == plain.headers
    withdrawn = (tmp_path / "site" / entry["files"]["withdrawn"]).read_bytes()
    assert WithdrawnList.unpack(withdrawn).numbers.tolist() == [3]
    unsigned = withdrawn[:12] + bytes(4) + withdrawn[16:56] + bytes(64) + withdrawn[120:]
    verified(unsigned, withdrawn[56:120], public, "the list")


def run(*words):
    return CliRunner().invoke(app, list(map(str, words)))


def test_the_command(books, tmp_path):
    done = run("publish", books, tmp_path / "site", "--name", "novels")
    assert done.exit_code == 0, done.stderr
    entry = entries(tmp_path / "site")["novels"]
    assert entry["sha256"] in done.stdout
    assert (tmp_path / "site" / "index.html").exists()


@pytest.mark.parametrize("text", ["[]", '{"format": "x", "models": []}', "{", '{"models": 3}'])
def test_another_models_json_is_not_overwritten(books, tmp_path, text):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "models.json").write_text(text)
    with pytest.raises(InputError, match="is not a list of models"):
        publish(books, tmp_path / "site")
    assert (tmp_path / "site" / "models.json").read_text() == text


def test_bad_input_is_one_line(books, tmp_path):
    for words, said in (
        (("publish", tmp_path / "no", tmp_path / "site"), "is no model"),
        (("publish", books, books), "is a model, expected a folder to publish into"),
        (("publish", books, tmp_path / "site", "--keep", "0"), "0 versions to keep"),
        (("publish", books, tmp_path / "site", "--name", "a/b"), "is not a name"),
        (("publish", books, tmp_path / "site", "--sign", tmp_path / "no"), "cannot be read"),
    ):
        done = run(*words)
        assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
        assert said in done.stderr


def fetch(url, **headers):
    """Status, headers and body."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=named)) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.headers, refused.read()


@pytest.fixture
def site(books, tmp_path):
    publish(books, tmp_path / "site", page=page.published())
    return tmp_path / "site"


@pytest.fixture
def nginx(site, tmp_path):
    """The URL of an nginx that serves `site` as docs/deploy.md says."""
    with serving(tmp_path, site) as url:
        yield url


def test_behind_nginx_a_range_is_a_recommender_and_the_rest_an_upgrade(nginx, books):
    listed = json.loads(fetch(nginx + "models.json")[2])["models"][0]
    url = urljoin(nginx + "models.json", listed["files"]["stream"])
    status, headers, first = fetch(url, Range="bytes=0-4999")
    whole = (books / "stream.elastic").read_bytes()
    assert (status, first) == (206, whole[:5000])
    etag = headers["ETag"]
    assert not etag.startswith("W/")
    status, _, rest = fetch(url, Range="bytes=5000-", If_Range=etag)
    assert (status, first + rest) == (206, whole)
    assert fetch(url, Range="bytes=5000-", If_Range='"other"')[0] == 200
    assert fetch(url, Range="bytes=99999999-")[0] == 416
    assert fetch(url, If_None_Match=etag)[0] == 304


def test_behind_nginx_files_have_their_types_and_lifetimes(nginx):
    files = json.loads(fetch(nginx + "models.json")[2])["models"][0]["files"]
    for path, kind, lifetime in (
        ("", "text/html", "no-cache"),
        ("page.js", "text/javascript", "no-cache"),
        ("models.json", "application/json", "no-cache"),
        (files["stream"], "application/octet-stream", "immutable"),
        (files["catalogue"], "application/json", "immutable"),
    ):
        status, headers, _ = fetch(nginx + path)
        assert status == 200
        assert headers["Content-Type"].startswith(kind)
        assert lifetime in headers["Cache-Control"]
    packed = fetch(nginx + files["catalogue"], Accept_Encoding="gzip")
    assert packed[1]["Content-Encoding"] == "gzip"
    plain = fetch(nginx + files["catalogue"])
    assert gzip.decompress(packed[2]) == plain[2]
    policy = fetch(nginx)[1]["Content-Security-Policy"]
    assert policy == page.POLICY
