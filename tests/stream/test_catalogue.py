import json

import numpy as np

from elasticrec.data.ids import Ids
from elasticrec.stream.catalogue import catalogue


def test_a_catalogue_holds_ids_and_titles_in_item_order():
    titles = np.array(["Ünder", ""], dtype=object)
    written = catalogue(Ids.of([2**63, 4]), titles, "ab")
    assert json.loads(written) == {
        "format": "elasticrec catalogue 1",
        "model_id": "ab",
        "id_kind": "integer",
        "ids": ["9223372036854775808", "4"],
        "titles": ["Ünder", None],
    }
    assert "Ünder".encode() in written
    untitled = json.loads(catalogue(Ids.of(["x"]), None, "ab"))
    assert (untitled["id_kind"], untitled["titles"]) == ("text", None)
