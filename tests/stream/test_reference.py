"""The slow reader takes every golden bundle and refuses every hostile file, each for its reason."""

import json
from pathlib import Path

import pytest

from elasticrec.bundle.header import Kind
from scripts import conformance, hostile
from tests.bundle.damage import draft, seal, sound
from tests.bundle.hostile import cases
from tests.bundle.hostile_beside import new_bundle, patches, sound_vector, vectors
from tests.bundle.reference import Reference, apply_patch
from tests.bundle.reference_file import RefusedError

DEVICE = Path(__file__).resolve().parent.parent.parent / "device"


def kept(folder):
    return {path.name: path.read_bytes() for path in (DEVICE / folder).iterdir()}


def test_the_golden_files_are_what_the_script_makes():
    files = kept("conformance")
    readme = files.pop("README.md")
    assert files == conformance.golden_files()
    assert len(readme) + sum(map(len, files.values())) < 300_000


def test_the_hostile_files_are_what_the_script_makes():
    assert kept("hostile") == hostile.hostile_files()


def test_the_expected_answers_are_sound_json():
    expected = json.loads((DEVICE / "conformance" / "expected.json").read_text(encoding="utf-8"))
    assert len(expected["bundles"]) == len(list((DEVICE / "conformance").glob("*.elastic")))
    for bundle in expected["bundles"]:
        for question in bundle["questions"]:
            assert len(question["items"]) == len(question["scores"]) <= question["k"]
            assert len(set(question["items"])) == len(question["items"])


def test_the_sound_files_are_taken():
    reader = Reference(sound())
    assert len(reader.read_vector(sound_vector())) == 8
    assert set(draft().sections) == set(Kind)


@pytest.mark.parametrize(
    ("name", "file"), [(n, f) for n, _, f in cases()], ids=lambda v: str(v)[:30]
)
def test_a_hostile_bundle_is_refused(name, file):
    with pytest.raises(RefusedError):
        Reference(bytes(file))


def test_no_two_hostile_bundles_are_equal():
    files = [bytes(file) for _, _, file in cases()]
    assert len(set(files)) == len(files)
    assert sound() not in files


def test_hostile_bundles_have_right_checksums_unless_they_are_about_them():
    wrong = {name for name, _, file in cases() if len(file) >= 64 and seal(file) != bytes(file)}
    about = {name for name, _, _ in cases() if "crc" in name}
    assert wrong - {"prefix-magic", "prefix-appended"} == about


@pytest.mark.parametrize(
    ("name", "file"), [(n, f) for n, _, f in vectors()], ids=lambda v: str(v)[:20]
)
def test_a_hostile_vector_is_refused(name, file):
    with pytest.raises(RefusedError):
        Reference(sound()).read_vector(file)


@pytest.mark.parametrize(
    ("name", "file"), [(n, f) for n, _, f in patches()], ids=lambda v: str(v)[:20]
)
def test_a_hostile_upgrade_is_refused(name, file):
    with pytest.raises(RefusedError):
        apply_patch(sound(), file)


def test_the_sound_upgrade_is_taken():
    assert apply_patch(sound(), (DEVICE / "hostile" / "sound.patch").read_bytes()) == new_bundle()


def test_every_piece_of_a_sound_bundle_is_refused():
    whole = sound()
    for length in range(len(whole)):
        with pytest.raises(RefusedError):
            Reference(whole[:length])
