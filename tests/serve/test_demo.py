"""The packaged model: it unpacks to a whole model folder, quickly, and holds no person."""

import subprocess
import sys

import numpy as np
import pytest

from elasticrec.blocks.folder import ModelFolder
from elasticrec.serve import demo
from elasticrec.serve.config import ServeConfig
from elasticrec.serve.models import load
from scripts.large_files import main as too_large


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    (path,) = demo.demo_models(tmp_path_factory.mktemp("demo"))
    return path


def test_it_is_a_model_that_can_be_served(folder, tmp_path):
    served = load(folder.name, folder, ServeConfig((folder,), tmp_path))
    assert (served.name, served.material.person, served.users) == ("goodbooks", "history", None)
    assert (served.material.codes.n_items, served.material.codes.n_groups) == (8828, 20)
    assert b'"The Book Thief"' in served.catalogue
    assert served.metric == "recall@50"


def test_its_files_lie_in_the_cache_and_not_where_the_user_happens_to_stand(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert demo.demo_shelf() == tmp_path / "elasticrec" / "demo-shelf"


def test_it_holds_no_person(folder):
    split = ModelFolder.open(folder).split()
    assert len(split.user_ids) == len(split.train) == len(split.validation) == len(split.test) == 0


def test_its_table_is_what_its_codes_say(folder):
    model = ModelFolder.open(folder)  # load_part holds the content against model.json
    codes = demo.Codes.load(model.path("codes"))
    items = model.table().items
    item = int(codes.bounds[3]) + 5
    depths = np.full(codes.n_blocks, 8)
    plain = [float(n) for n in codes.decode(item, item + 1, depths, with_gain=False)[0]]
    assert items[item].tolist() == plain


def test_it_is_unpacked_once(folder):
    before = (folder / "model.json").stat().st_mtime_ns
    (again,) = demo.demo_models(folder.parents[1])
    assert again == folder
    assert (again / "model.json").stat().st_mtime_ns == before
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_an_archive_that_is_cut_off_leaves_nothing(tmp_path):
    cut = tmp_path / "cut.tar.xz"
    cut.write_bytes(demo.ARCHIVE.read_bytes()[:100_000])
    with pytest.raises(EOFError):
        demo.unpack(cut, tmp_path / "place" / "model")
    assert list((tmp_path / "place").iterdir()) == []


def test_it_is_a_few_megabytes_and_its_page_says_how_many():
    n_bytes = demo.ARCHIVE.stat().st_size
    assert n_bytes < 4_000_000
    assert f"{n_bytes:,} bytes" in (demo.ARCHIVE.parent / "README.md").read_text()
    assert too_large([str(demo.ARCHIVE)]) == 0


READY = """
import sys, time
from pathlib import Path
from elasticrec.serve.app import create_app
from elasticrec.serve.config import ServeConfig
from elasticrec.serve.demo import demo_models
config = ServeConfig(demo_models(Path(sys.argv[1])), Path(sys.argv[1]))
service = create_app(config).state.service
service.look()
assert service.registry.is_ready and "torch" not in sys.modules
print(time.process_time())
"""


def test_it_is_ready_within_five_seconds_of_work(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", READY, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < 5
