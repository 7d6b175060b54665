"""The slow reader refuses every hostile file, and every rule that it checks has one."""

import ast
import hashlib
from pathlib import Path

import pytest

from elasticrec.stream.side_files import public_bytes
from scripts import hostile
from tests.stream.damage import KEY, SOUND, Draft, draft, sound, sound_head
from tests.stream.golden import catalogue, withdrawn
from tests.stream.hostile import STRANGER
from tests.stream.hostile_beside import sound_vector, truncated_at
from tests.stream.making import kept_files
from tests.stream.reference import Reference
from tests.stream.reference_file import RefusedError, StreamFile

FOLDER = Path(__file__).resolve().parents[2] / "device" / "hostile"
CASES = list(hostile.cases())
PUBLIC = public_bytes(KEY)


def test_the_hostile_files_are_what_the_script_makes():
    assert kept_files(FOLDER) == hostile.hostile_files()


def test_the_sound_files_are_taken():
    for key in (None, PUBLIC):
        reader = Reference(sound(), key=key, sequence=7, withdrawn=withdrawn(SOUND))
        assert reader.withdrawn == {3, 7}
        assert len(reader.read_vector(sound_vector())) == 16
    assert draft().file() == sound()
    assert sound_head().catalogue == hashlib.sha256(catalogue(SOUND)).digest()
    for key, sequence in ((public_bytes(STRANGER), 0), (PUBLIC, 8)):
        with pytest.raises(RefusedError):
            StreamFile(sound(), key, sequence)


def judge(case, key):
    if case.kind == "vector":
        return Reference(sound()).read_vector(case.data)
    if case.kind == "withdrawn":
        return Reference(sound(), key=key, withdrawn=case.data)
    return Reference(case.data, key=key)


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.kind != "catalogue"], ids=lambda case: case.name
)
def test_a_hostile_file_is_refused(case):
    with pytest.raises(RefusedError) as refused:
        judge(case, PUBLIC if case.key else None)
    assert all(text in str(refused.value) for text in case.names)
    if case.key:
        judge(case, None)


def test_hostile_files_differ():
    files = [(case.kind, case.data) for case in CASES]
    assert len(set(files)) == len(files)
    assert len({case.name for case in CASES}) == len(CASES)


def rules():
    """(file, line) of every rule that the slow reader checks."""
    for name in ("reference_file.py", "reference.py"):
        source = (Path(__file__).parent / name).read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)):
            is_rule = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "need"
            if is_rule and "sequence" not in ast.unparse(node):
                yield name, node.lineno - 1


def test_every_rule_of_the_slow_reader_is_broken_by_some_file():
    broken = set()
    for case in CASES:
        if case.kind != "catalogue":
            with pytest.raises(RefusedError) as refused:
                judge(case, PUBLIC if case.key else None)
            at = refused.traceback[-2 if refused.traceback[-1].name == "need" else -1]
            broken.add((Path(str(at.path)).name, at.lineno))
    assert set(rules()) <= broken


def test_every_piece_below_least_is_refused_and_every_longer_one_taken():
    whole, least = sound(), sound_head().least
    assert set(truncated_at()) < set(range(least))
    for length in range(least):
        with pytest.raises(RefusedError):
            StreamFile(whole[:length])
    for length in range(least, len(whole) + 1):
        StreamFile(whole[:length], PUBLIC)


def test_a_draft_keeps_what_it_is_given():
    for kind in ("dense", "u32", "u64", "text"):
        assert Draft(sound(kind)).file() == sound(kind)
