import pytest

from elasticrec.errors import InputError
from elasticrec.stream.chunk import copy_prefix, index_of, read_index
from elasticrec.stream.format import StreamError
from tests.stream.damage import draft, sound, sound_head
from tests.stream.hostile import of_length
from tests.stream.hostile_chunks import of_one_item_each
from tests.stream.reference_file import StreamFile

ENDS = StreamFile(sound()).ends


def test_the_index_of_a_stream_and_of_its_prefixes():
    whole = sound()
    assert index_of(whole, len(whole)).ends == ENDS
    for length in range(sound_head().least, len(whole)):
        index = index_of(whole[:length], length)
        assert index.ends == [end for end in ENDS if end <= length]
        assert index.longest_prefix(length) == index.longest_prefix(10**9) == index.ends[-1]


@pytest.mark.parametrize("case", list(of_length()), ids=lambda case: case.name)
def test_lengths_that_do_not_fit_are_refused(case):
    with pytest.raises(StreamError):
        index_of(case.data, len(case.data))


def test_other_files_are_refused(tmp_path):
    with pytest.raises(StreamError, match="too many small chunks"):
        index_of(many := of_one_item_each(), len(many))
    with pytest.raises(StreamError, match="expected the end of a chunk"):
        index_of(odd := draft().set(least=1000).file(), len(odd))
    with pytest.raises(StreamError, match="smallest useful prefix has"):
        index_of(sound()[:1000], 1000)
    (tmp_path / "text").write_text("no stream")
    (tmp_path / "empty").write_bytes(b"")
    for name in ("text", "empty", "none"):
        with pytest.raises(InputError, match=f"^{tmp_path / name}: "):
            read_index(tmp_path / name)


def test_a_prefix_is_copied_whole_or_not_at_all(tmp_path):
    (tmp_path / "s").write_bytes(sound())
    out = tmp_path / "out"
    assert copy_prefix(tmp_path / "s", ENDS[-2] + 1, out) == ENDS[-2]
    assert out.read_bytes() == sound()[: ENDS[-2]]
    assert read_index(tmp_path / "s").longest_prefix(10**12) == len(sound())
    with pytest.raises(InputError, match="no folder"):
        copy_prefix(tmp_path / "s", 10**12, tmp_path / "none" / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "s"]
