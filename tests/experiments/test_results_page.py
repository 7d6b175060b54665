"""The results page: short, and honest about what was not measured."""

from experiments import comparing, default, figures, lines
from scripts import results_page


def test_without_lines_the_page_says_so(results):
    text = results_page.results()
    assert text.count(results_page.NOT_YET) == 4
    assert "No test line of the present code exists yet." in text


def test_the_committed_page_is_short():
    assert len(results_page.results().splitlines()) <= 80


def test_a_lead_is_shown_with_its_corrected_p(results):
    for method, value in (("all alike", 0.22), ("format 3", 0.2)):
        fields = {
            "dataset": "gowalla", "part": "validation", "person": "history", "seed": 0,
            "bytes_per_item": 11, "method": method, "metrics": {"recall@50": value},
        }  # fmt: skip
        lines.append("formats", fields)
    test = {
        "dataset": "gowalla", "part": "validation", "person": "history", "bytes_per_item": 11,
        "method": "all alike", "against": "format 3", "seed": 0,
        "metrics": {"recall@50 p": 0.001, "recall@50 lead": 0.1},
    }  # fmt: skip
    lines.append("formats-tests", test)
    assert "| Gowalla | +10.0% | +10.0% at 11 | **0.001** |" in results_page.results()
    assert "| Gowalla | 11 | 0.2200 | 0.2000 | +10.0% | **0.001** |" in results_page.formats_page()
    assert comparing.ALPHA == 0.05


def test_the_picture_of_the_readme_shows_the_lines_that_there_are():
    text = (figures.FOLDER / f"{default.EXPERIMENT}.svg").read_text()
    assert "gowalla 6: " in default.drawn()
    assert default.drawn() in text, "run make figures"
