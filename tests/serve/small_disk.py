"""Serves, publishes and changes models on a disk that is full, or that can only be read.

    unshare --map-root-user --mount python -m tests.serve.small_disk MODELS PLACE full|read-only

The disk is a tmpfs of 24 MB, mounted in a namespace of this process alone.
"""

import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from elasticrec.changing import changed
from elasticrec.errors import InputError
from elasticrec.model import FILES, Model
from elasticrec.stream.publish import publish
from tests.serve.making import servable
from tests.serve.server import Server


def get(server, path):
    """Status and content of an answer."""
    try:
        with urllib.request.urlopen(f"{server.url}{path}", timeout=20) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def fill(place):
    """Take all bytes that are left."""
    with (place / "rest").open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while file.write(bytes(size)) == size:
                    pass
            except OSError:
                continue


def refusal(act):
    """The one line by which something is refused."""
    with pytest.raises(InputError) as caught:
        act()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def sound(root):
    """A model whose parts are all the recorded ones."""
    model = Model.open(root)
    return all(model.check(part) for part in model.content["parts"])


def rewrite(root):
    """Make the codes anew, as `compress` does."""
    with changed(root) as model:
        codes = Model.open(root).codes
        codes.data[:] = np.random.default_rng(0).integers(0, 256, codes.data.shape)
        model.save_part("codes", codes)


def serve_all(models, place, server):
    """Everything that is there is served, and the metrics count it."""
    for name in ("books", "films"):
        for file in ("stream.elastic", "catalogue.json", "curve.json"):
            expected = (models / name / file).read_bytes()
            assert get(server, f"/models/{name}/{file}") == (200, expected), file
    assert get(server, "/readyz")[0] == get(server, "/healthz")[0] == 200
    status, text = get(server, "/metrics")
    assert status == 200
    assert b'http_requests_total{route="stream",method="GET",status="200"} 2' in text


def write(models, place, why):
    """Whatever would write is refused in one line that says why, and leaves what was there."""
    site = place / "site"
    listed = (site / "models.json").read_bytes()
    assert refusal(lambda: rewrite(models / "books")).endswith(f"cannot be written ({why})")
    assert why in refusal(lambda: publish(models / "films", site, name="more"))
    assert sound(models / "books")
    assert sound(models / "films")
    assert (site / "models.json").read_bytes() == listed


def full(models, place):
    """Nothing can be written for want of room."""
    servable(place / "next", seed=5, sequence=2)
    fill(place)
    with Server(models, "--poll", "0.05", log=place / "log") as server:
        serve_all(models, place, server)
        write(models, place, "No space left on device")
        before = get(server, "/models/books/stream.elastic")
        stream = place / "next" / FILES["stream"]
        os.truncate(stream, stream.stat().st_size // 2)  # a copy that was cut off
        os.rename(models / "books", models / ".old")
        os.rename(place / "next", models / "books")
        while get(server, "/readyz/books")[0] == 200:
            pass
        assert b"books/stream.elastic: is damaged" in get(server, "/readyz/books")[1]
        assert get(server, "/models/books/stream.elastic") == before
        assert get(server, "/readyz/films")[0] == 200
    os.remove(place / "rest")
    rewrite(models / "films")
    assert sound(models / "films")


def read_only(models, place):
    """Nothing can be written at all."""
    log = place.parent / "log"
    subprocess.run(["mount", "-o", "remount,ro", place], check=True)
    with Server(models, log=log) as server:
        serve_all(models, place, server)
        write(models, place, "Read-only file system")


def main(made, place, what):
    """Mount the disk, copy the models to it, publish them there, and try."""
    made, place = Path(made), Path(place)
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "none", place], check=True)
    os.environ["TMPDIR"] = os.environ["HOME"] = str(place)
    models = place / "models"
    shutil.copytree(made, models)
    publish(models / "films", place / "site")
    {"full": full, "read-only": read_only}[what](models, place)


if __name__ == "__main__":
    main(*sys.argv[1:])
