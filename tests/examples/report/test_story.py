import pytest

from elasticrec.errors import InputError
from elasticrec_demo.report.story import Story, size_text


def test_comes_back_as_it_was(story, tmp_path):
    story.save(tmp_path / "story.json", key="k")
    assert Story.load(tmp_path / "story.json", key="k") == story


def test_refuses_another_key_and_what_is_no_story(story, tmp_path):
    path = tmp_path / "story.json"
    story.save(path, key="k")
    with pytest.raises(InputError, match="tells of other settings"):
        Story.load(path, key="other")
    path.write_text(path.read_text().replace('"story 1', '"tale 1').replace("story 1", "tale 1"))
    with pytest.raises(InputError, match="expected 'elasticrec story 1'"):
        Story.load(path)
    path.write_text('{"format": "elasticrec story 1", "key": "k"')
    with pytest.raises(InputError, match="cannot be used"):
        Story.load(path)
    with pytest.raises(InputError, match="cannot be used"):
        Story.load(tmp_path / "missing.json")


def test_shares_are_of_the_full_model(story):
    assert [story.share(fit.searched) for fit in story.fits] == pytest.approx([0.5, 0.9])


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [(12, "12 B"), (1_500, "1.50 KB"), (599_999, "0.60 MB"), (4_520_448, "4.52 MB")],
)
def test_sizes_as_a_person_reads_them(n_bytes, text):
    assert size_text(n_bytes) == text
