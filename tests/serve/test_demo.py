"""The packaged model: it can be served at once, and holds no person."""

import numpy as np
import pytest

from elasticrec.files import demo_folder
from elasticrec.model import Model
from elasticrec.serve.models import load
from scripts import demo_model as packaging
from scripts.large_files import main as too_large
from tests.serve.making import servable

PACKAGED = demo_folder() / "models" / "goodbooks"


def test_it_can_be_served_and_has_titles_and_a_curve():
    served = load("goodbooks", PACKAGED)
    assert served.facts["items"] > 8_000
    assert served.facts["files"].keys() == {"stream", "catalogue", "curve"}
    catalogue = served.files["catalogue.json"]
    assert '"The Book Thief · Markus Zusak"'.encode() in bytes(catalogue.read(0, catalogue.n_bytes))
    assert served.vectors.file("1") is None


def test_it_holds_what_clients_get_and_no_person():
    names = {path.name for path in PACKAGED.iterdir()}
    assert names == {"model.json", "stream.elastic", "catalogue.json", "curve.json"}
    assert too_large([str(path) for path in PACKAGED.iterdir()]) == 0


def test_it_ranks(tmp_path):
    device = pytest.importorskip("elasticrec_device")
    with device.open(PACKAGED / "stream.elastic") as stream:
        numbers = [item.id for item in stream.recommend(history=[1, 2, 3], k=20)]
    assert len(np.unique(numbers)) == 20


def test_the_script_packages_a_model(tmp_path):
    model = servable(tmp_path / "model")
    n_bytes = packaging.package(model, tmp_path / "packaged")
    packaged = Model.open(tmp_path / "packaged")
    for part in packaging.PARTS:
        assert packaged.check(part).read_bytes() == model.check(part).read_bytes()
    assert not packaged.has("split")
    assert n_bytes == sum(path.stat().st_size for path in packaged.root.iterdir())
    assert load("packaged", packaged.root).facts["items"] == 3_000
