"""Model folders: new versions are taken up, and a bad folder stops nothing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from elasticrec.errors import InputError
from elasticrec.model import Model
from elasticrec.serve.models import check_models, find_models
from tests.serve.making import servable

ROOT = Path(__file__).resolve().parents[2]
STREAM = "/models/books/stream.elastic"


def renewed(models, **how):
    """Put a new version of `books` in the place of the old one, as a deployment does."""
    servable(models / "next", seed=5, sequence=2, **how)
    os.rename(models / "books", models / ".old")
    os.rename(models / "next", models / "books")


def test_a_new_version_takes_its_place_and_the_old_etag_is_stale(start, models):
    client = start(models=(models,))
    old = client.get(STREAM)
    renewed(models)
    client.until(lambda: client.get("/models/books").json()["sequence"] == 2)
    new = client.get(STREAM, {"range": "bytes=10-", "if-range": old.headers["etag"]})
    assert new.status_code == 200
    assert new.content == (models / "books" / "stream.elastic").read_bytes() != old.content


def test_a_download_goes_on_with_the_version_that_it_began_with(start, models):
    client = start(models=(models,))
    served = client.app.state.models.served["books"]
    content = (models / "books" / "stream.elastic").read_bytes()
    renewed(models)
    shutil.rmtree(models / ".old")
    client.until(lambda: client.app.state.models.served["books"] is not served)
    assert bytes(served.stream.read(0, len(content))) == content


@pytest.mark.parametrize("part", ["stream.elastic", "catalogue.json", "curve.json"])
def test_a_damaged_model_stops_neither_the_start_nor_the_others(start, models, part):
    content = bytearray((models / "books" / part).read_bytes())
    content[len(content) // 2] ^= 1
    (models / "books" / part).write_bytes(content)
    client = start(models=(models,))
    assert client.get("/models/films/stream.elastic").status_code == 200
    assert client.get("/healthz").json() == {"status": "alive"}
    answer = client.get("/readyz")
    assert answer.status_code == 200
    states = answer.json()["models"]
    assert states["films"] == "ready"
    assert part in states["books"]
    assert "is damaged or was swapped" in states["books"]
    assert client.get("/readyz/films").status_code == 200
    assert client.get("/readyz/books").status_code == 503
    assert client.get("/readyz/nothing").status_code == 404
    refused = client.get(STREAM)
    assert (refused.status_code, refused.json()["title"]) == (503, "The model is not ready")
    assert [each["name"] for each in client.get("/models").json()["models"]] == ["films"]
    numbers = client.get("/metrics").text
    assert 'elasticrec_model_ready{model="books"} 0' in numbers
    assert 'elasticrec_model_ready{model="films"} 1' in numbers
    assert 'elasticrec_model_load_failures_total{model="books"} 1' in numbers


def test_a_bad_new_version_leaves_the_old_one_in_its_place(start, models):
    client = start(models=(models,))
    old = client.get(STREAM).content
    good = (models / "books" / "model.json").read_bytes()
    (models / "books" / "model.json").write_text("{")
    client.until(lambda: client.get("/readyz/books").status_code == 503)
    assert client.get(STREAM).content == old
    (models / "books" / "model.json").write_bytes(good)
    client.until(lambda: client.get("/readyz/books").status_code == 200)


def test_files_of_another_model_are_refused(start, models):
    other = servable(models.parent / "other", seed=9)
    shutil.copy(other.path("catalogue"), models / "books" / "catalogue.json")
    text = (models / "books" / "model.json").read_text()
    old = Model.open(models / "books").hash_of("catalogue")
    (models / "books" / "model.json").write_text(text.replace(old, other.hash_of("catalogue")))
    (models / "films" / "withdrawn.list").write_bytes(b"\x89ELWITHD" + bytes(200))
    states = start(models=(models,)).get("/readyz").json()["models"]
    assert "catalogue.json: is not the catalogue of" in states["books"]
    assert "withdrawn list of version 0" in states["films"]


def test_none_is_not_ready(start, models):
    for name in ("books", "films"):
        (models / name / "stream.elastic").unlink()
    answer = start(models=(models,)).get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["status"] == "not ready"
    assert "stream.elastic: is missing" in answer.json()["models"]["books"]


def test_a_folder_that_is_gone_is_served_no_more(start, models):
    client = start(models=(models,))
    shutil.rmtree(models / "books")
    client.until(lambda: client.get("/models/books").status_code == 404)
    assert client.get("/readyz").json()["models"] == {"films": "ready"}
    assert 'model="books"' not in "".join(
        line for line in client.get("/metrics").text.splitlines() if "model_ready" in line
    )


def test_folders_are_found_by_their_names(models, tmp_path):
    os.symlink(models / "books", models / "linked")
    shutil.copytree(models / "films", models / "bad name")
    (models / "empty").mkdir()
    (models / "file").write_text("x")
    assert list(find_models((models,))) == ["books", "films", "linked"]
    assert list(find_models((models / "films", models))) == ["films", "books", "linked"]
    assert find_models((models / "empty", tmp_path / "nowhere")) == {}
    check_models((models, models / "books"))
    with pytest.raises(InputError, match="is no model folder and holds none"):
        check_models((models / "empty",))


CODE = """
import sys
from pathlib import Path
from elasticrec.serve.middleware import ServeConfig
from tests.serve.client import Running

written = []

def note(event, arguments):
    if event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
        written.append(arguments[0])
    elif event.split(".")[-1] in ("mkdir", "remove", "rename", "truncate", "symlink", "link"):
        written.append(event)

sys.addaudithook(note)
with Running(ServeConfig((Path(sys.argv[1]),))) as client:
    for path in ("models", "models/books/stream.elastic", "models/books/catalogue.json", "metrics"):
        assert client.get("/" + path).status_code == 200
print(written)
"""


def test_serving_writes_nothing_so_a_full_disk_does_not_matter(made_models):
    command = [sys.executable, "-B", "-c", CODE, str(made_models)]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert (ran.stdout, ran.returncode) == ("[]\n", 0), ran.stderr
