"""The Python runtime against the golden and the hostile files, bit by bit."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import elasticrec_device
from elasticrec_device import Bundle, BundleError, apply_patch

DEVICE = Path(__file__).parents[2] / "device"
GOLDEN, HOSTILE = DEVICE / "conformance", DEVICE / "hostile"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))
BUNDLES = {entry["file"]: entry for entry in EXPECTED["bundles"]}


def own(entry: dict[str, Any]) -> Callable[[Any], Any]:
    """What turns an id of expected.json, which is text, into what the runtime takes."""
    turn = str if entry["ids"] == "strings" else int
    return lambda ids: (
        ids if ids is None else [each if each is None else turn(each) for each in ids]
    )


def bits(score: float) -> str:
    return struct.pack(">f", score).hex()


def questions(ask: str) -> list[Any]:
    return [
        pytest.param(entry, question, id=f"{name}-{number}")
        for name, entry in BUNDLES.items()
        for number, question in enumerate(entry["questions"])
        if question["ask"] == ask
    ]


def test_every_golden_file_is_named() -> None:
    assert {path.name for path in GOLDEN.glob("*.elastic")} == set(BUNDLES)


@pytest.mark.parametrize(("entry", "asked"), questions("recommend"))
def test_recommends_as_expected(entry: dict[str, Any], asked: dict[str, Any]) -> None:
    ids = own(entry)
    vector = asked["vector"] and GOLDEN / asked["vector"]
    with elasticrec_device.open(GOLDEN / entry["file"], entry["sha256"]) as bundle:
        found = bundle.recommend(
            history=ids(asked["history"]),
            user=vector,
            k=asked["k"],
            exclude=ids(asked["exclude"]),
            only=ids(asked["only"]),
            repeat=asked["repeat"],
            why=True,
        )
    assert [item.id for item in found] == ids(asked["items"])
    assert [bits(item.score) for item in found] == asked["scores"]
    assert [item.why for item in found] == ids(asked["why"])
    assert found.unknown == asked["unknown"]


@pytest.mark.parametrize(("entry", "asked"), questions("similar"))
def test_finds_similar_items_as_expected(entry: dict[str, Any], asked: dict[str, Any]) -> None:
    ids = own(entry)
    with elasticrec_device.open(GOLDEN / entry["file"]) as bundle:
        found = bundle.similar(ids([asked["item"]])[0], asked["k"])
    assert [item.id for item in found] == ids(asked["items"])
    assert [bits(item.score) for item in found] == asked["scores"]


@pytest.mark.parametrize("name", BUNDLES)
def test_every_bundle_refuses_a_foreign_vector(name: str) -> None:
    with (
        elasticrec_device.open(GOLDEN / name) as bundle,
        pytest.raises(BundleError, match="vector"),
    ):
        bundle.recommend(user=GOLDEN / EXPECTED["foreign_vector"])


@pytest.mark.parametrize("name", BUNDLES)
def test_a_catalogue_fits_its_own_bundle_alone(name: str) -> None:
    for path in GOLDEN.glob("*.catalogue.json"):
        with elasticrec_device.open(GOLDEN / name) as bundle:
            if path.name == BUNDLES[name]["catalogue"]:
                titles = json.loads(path.read_text(encoding="utf-8"))["titles"]
                bundle.catalogue(path)
                listed = bundle.recommend(k=5)
                numbers = json.loads(path.read_text(encoding="utf-8"))["ids"]
                for item in listed:
                    assert item.title == titles[numbers.index(str(item.id))]
            else:
                with pytest.raises(BundleError, match="catalogue"):
                    bundle.catalogue(path)


@pytest.mark.parametrize("upgrade", EXPECTED["upgrades"], ids=lambda upgrade: upgrade["patch"])
def test_upgrades_as_expected(upgrade: dict[str, str], tmp_path: Path) -> None:
    old, patch = GOLDEN / upgrade["old"], GOLDEN / upgrade["patch"]
    apply_patch(old, patch, tmp_path / "new.elastic")
    assert (tmp_path / "new.elastic").read_bytes() == (GOLDEN / upgrade["new"]).read_bytes()


def hostile(pattern: str) -> list[str]:
    names = sorted(path.name for path in HOSTILE.glob(pattern) if path.stem != "sound")
    assert names, f"no hostile files {pattern}"
    return names


def try_bundle(source: Path | bytes) -> Bundle:
    """Open, and look an id up."""
    bundle = elasticrec_device.open(source)
    bundle.recommend(history=["x" if bundle.info()["ids"] == "strings" else 1])
    return bundle


def test_what_hostile_files_are_made_of_is_sound(tmp_path: Path) -> None:
    bundle = try_bundle(HOSTILE / "sound.elastic")
    assert bundle.recommend(user=HOSTILE / "sound.vector")
    apply_patch(HOSTILE / "sound.elastic", HOSTILE / "sound.patch", tmp_path / "new")
    try_bundle(tmp_path / "new")


@pytest.mark.parametrize("name", hostile("*.elastic"))
def test_refuses_hostile_bundles(name: str) -> None:
    if not name.startswith("late-"):
        with pytest.raises(BundleError, match=r"found .*, expected "):
            elasticrec_device.open(HOSTILE / name)
    with pytest.raises(BundleError, match=r"found .*, expected "):
        try_bundle((HOSTILE / name).read_bytes())


@pytest.mark.parametrize("name", hostile("*.vector"))
def test_refuses_hostile_vectors(name: str) -> None:
    with elasticrec_device.open(HOSTILE / "sound.elastic") as bundle:
        for source in (HOSTILE / name, (HOSTILE / name).read_bytes()):
            with pytest.raises(BundleError, match=r"found .*, expected "):
                bundle.recommend(user=source)


@pytest.mark.parametrize("name", hostile("*.patch"))
def test_refuses_hostile_upgrades_and_leaves_what_was_there(name: str, tmp_path: Path) -> None:
    new = tmp_path / "new.elastic"
    new.write_bytes(b"as it was")
    with pytest.raises(BundleError, match=r"found .*, expected "):
        apply_patch(HOSTILE / "sound.elastic", HOSTILE / name, new)
    assert [path.name for path in tmp_path.iterdir()] == ["new.elastic"]
    assert new.read_bytes() == b"as it was"


def test_refuses_every_piece_of_a_sound_file() -> None:
    whole = (HOSTILE / "sound.elastic").read_bytes()
    for length in json.loads((HOSTILE / "expected.json").read_text())["truncated"]:
        with pytest.raises(BundleError):
            elasticrec_device.open(whole[:length])
