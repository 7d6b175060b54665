"""The printed table as kept, and as the paper's source has it."""

import pytest

from experiments import paper


def test_the_kept_table_is_whole_and_holds_known_cells():
    table = paper.table2()
    assert len(table) == 14
    assert table["amazon-book", "rule"]["5"]["recall@50"] == 0.05335
    assert table["yelp2020", "rule"]["25"]["ndcg@100"] == 0.05529
    assert all(len(cells) == 3 for cells in table.values())


def test_cells_stand_beside_ours_and_slips_are_cells():
    assert paper.printed("amazon-book", "ours", 10, "recall@100") == 0.09416
    assert paper.printed("yelp2018", "pmf", 10, "recall@50") == 0.08160
    assert paper.printed("gowalla", "ours", 5, "recall@50") is None
    assert paper.printed("amazon-book", "ours", 1, "recall@50") is None
    for dataset, method, mb, metric in paper.SLIPS:
        neighbour = paper.table2()[dataset, method]["5"][metric]
        assert paper.table2()[dataset, method][mb][metric] > 9 * neighbour


@pytest.mark.realdata
def test_the_kept_table_is_what_the_source_prints(real_data):
    source = real_data.parent / "paper" / "rule-kdd21.tex"
    if not source.exists():
        pytest.skip("no source of the paper")
    assert paper.parse(source.read_text(encoding="utf-8")) == paper.table2()
