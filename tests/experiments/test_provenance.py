"""The hash of some code: comments and docstrings do not count, everything else does."""

import pytest

from experiments import provenance

CODE = '"""A module."""\n\n\ndef double(x):\n    """Twice x."""\n    return 2 * x\n'


@pytest.fixture
def hashed(tmp_path, monkeypatch):
    """The hash of a module of that text."""
    monkeypatch.setattr(provenance, "ROOT", tmp_path)

    def hashed(text, name="room/module.py"):
        provenance.code_hash.cache_clear()
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        found = provenance.code_hash("room")
        path.unlink()
        return found

    yield hashed
    provenance.code_hash.cache_clear()


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ('"""A module."""', '"""Another sentence."""', True),
        ('"""Twice x."""', '"""Double."""', True),
        ("return 2 * x", "return 2 * x  # and no more", True),
        ("return 2 * x", "return 3 * x", False),
        ("return 2 * x", 'return "Twice x."', False),
    ],
)
def test_only_code_changes_the_hash(hashed, before, after, same):
    assert (hashed(CODE) == hashed(CODE.replace(before, after))) == same


def test_the_place_of_code_counts(hashed):
    assert hashed(CODE) != hashed(CODE, "room/other.py")


def test_everything_but_the_command_line_and_the_service_is_hashed():
    found = {str(path.relative_to(provenance.ROOT)) for path in provenance.modules()}
    listed = (provenance.ROOT / "src" / "elasticrec").rglob("*.py")
    every = {str(path.relative_to(provenance.ROOT)) for path in listed}
    left_out = {path for path in every if path.split("/")[2] in ("cli", "serve")}
    entries = {f"src/elasticrec/{name}.py" for name in ("__init__", "__main__")}
    assert found == every - left_out - entries
    assert len(provenance.code_hash()) == 12
