"""`elasticrec recommend`: lists as the ranker gives them, printed, as JSON and as a CSV."""

import csv
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from elasticrec.recommending import Ranker, _chunk, write_lists
from elasticrec.space import Budget
from tests.cli.running import refused, run, run_json
from tests.twins import diversity_of

pytest.importorskip("torch")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def ranker(tiny_model):
    return Ranker(tiny_model)


def ids(listed):
    return [found["id"] for found in listed]


def test_a_user_gets_the_rankers_list(tiny_model, ranker):
    found = run_json("recommend", tiny_model.root, "--user", 14, "-k", 7)
    expected = ranker.recommend(14, k=7)
    assert [(f["id"], f["title"]) for f in found] == [(e.id, e.title) for e in expected]
    split, user = tiny_model.split, tiny_model.split.user_ids.numbers([14])[0]
    for part in (split.train, split.validation, split.test):
        assert not set(ids(found)) & set(split.item_ids.values[part.of(user)].tolist())


def test_anyone_gets_a_list_for_some_items(tiny_model, ranker):
    found = run_json("recommend", tiny_model.root, "--items", "1003, 1070,1003", "-k", 5)
    assert ids(found) == [e.id for e in ranker.recommend(items=[1070, 1003], k=5)]
    rest = run_json(
        "recommend", tiny_model.root, "--items", "1003,1070", "-k", 5, "--exclude", ids(found)[0]
    )
    assert ids(rest)[:4] == ids(found)[1:]


def test_a_budget_ranks_with_the_file_of_that_size(tiny_model):
    least = tiny_model.curve["points"][0]["bytes"]
    found = run_json("recommend", tiny_model.root, "--items", 1003, "--budget", least, "-k", 30)
    small = Ranker(tiny_model, Budget(least)).recommend(items=[1003], k=30)
    assert ids(found) == [e.id for e in small]
    assert ids(found) != ids(run_json("recommend", tiny_model.root, "--items", 1003, "-k", 30))


def test_the_table_has_places_ids_titles_and_scores(tiny_model, ranker):
    lines = run("recommend", tiny_model.root, "--user", 14, "-k", 3).splitlines()
    assert lines[0].split() == ["item", "title", "score"]
    for place, (line, found) in enumerate(zip(lines[1:], ranker.recommend(14, k=3), strict=True)):
        title = (found.title or "").split()
        assert line.split() == [str(place + 1), str(found.id), *title, f"{found.score:.4f}"]


def test_many_users_go_to_a_csv(tiny_model, ranker, tmp_path):
    asked, out = tmp_path / "users.txt", tmp_path / "lists.csv"
    asked.write_text("14\n\n 21 \n700\n")
    said = run("recommend", tiny_model.root, "--users-file", asked, "-o", out, "-k", 4)
    assert f"wrote the lists of 3 users to {out}" in said
    with out.open(newline="") as file:
        header, *rows = list(csv.reader(file))
    assert header == ["user", "place", "item", "score", "title"]
    lists = {user: ranker.recommend(user, k=4) for user in (14, 21, 700)}
    expected = [(str(user), str(each.id)) for user, listed in lists.items() for each in listed]
    assert [(row[0], row[2]) for row in rows] == expected
    assert [row[1] for row in rows] == list("1234" * 3)


def test_a_varied_list_is_more_varied_here_and_on_a_device(tiny_model, ranker):
    asked = ("--items", "1003,1070", "-k", 10)
    plain = run_json("recommend", tiny_model.root, *asked)
    found = run_json("recommend", tiny_model.root, *asked, "--diversity", 0.6)
    train = tiny_model.split.train
    varied, usual = (
        diversity_of(tiny_model.split.item_ids.numbers(ids(listed)).tolist(), train)
        for listed in (found, plain)
    )
    assert varied > usual
    assert found[0] == plain[0]
    numbers = ",".join(map(str, tiny_model.split.item_ids.numbers([1003, 1070]).tolist()))
    of_device = ("--items", numbers, "-k", 10, "--diversity", 0.6)
    listed = run_json("recommend", tiny_model.stream_path, *of_device)
    assert tiny_model.split.item_ids.values[ids(listed)].tolist() == ids(found)
    ((_, many),) = ranker.recommend_many(items=[[1003, 1070]], k=10, diversity=0.6)
    assert [each.id for each in many] == ids(found)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "expected one of --user, --items, or --users-file with --out"),
        (["--user", "14", "--items", "1003"], "expected one of --user, --items"),
        (["--user", "14", "-o", "lists.csv"], "--users-file with --out"),
        (["--user", "eve"], "no user 'eve' in the data; ids look like 0, 7, 14"),
        (["--items", "5"], "none of the items given is known; ids look like 1"),
        (["--items", " , "], "none of the items given is known"),
        (["--user", "14", "-k", "0"], "k is 0, expected a whole number of at least 1"),
        (["--user", "14", "--budget", "9"], "smallest useful size of this stream is"),
        (["--user", "14", "--budget", "9XB"], "'9XB' is not a size"),
        (["--users-file", "none.txt", "-o", "lists.csv"], "none.txt: No such file"),
        (["--users-file", "none.txt", "-o", "no/lists.csv"], "there is no folder no"),
    ],
)
def test_bad_input_is_one_line(tiny_model, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    assert message in refused("recommend", tiny_model.root, *words)
    assert not list(tmp_path.iterdir())


def test_a_damaged_part_is_one_line(tiny_copy):
    with (tiny_copy / "codes.npz").open("r+b") as file:
        file.seek(500)
        file.write(b"\0\1\2")
    assert "codes.npz: is damaged or was swapped" in refused("recommend", tiny_copy, "--user", 14)


KILLED = """
import os, sys
from elasticrec import recommending
from elasticrec.cli.main import app
from tests.killing import arm
recommending.CHUNK = 40
arm(4, os.open(os.devnull, os.O_WRONLY))
app(sys.argv[1:])
"""


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_a_run_that_was_killed_goes_on_by_any_engine(
    tiny_model, ranker, tmp_path, monkeypatch, kind
):
    import polars as pl

    monkeypatch.setattr("elasticrec.recommending.CHUNK", 40)
    everyone = tiny_model.split.user_ids.values.tolist()
    asked, out = tmp_path / "users.txt", tmp_path / f"lists.{kind}"
    asked.write_text("\n".join(map(str, everyone)))
    words = ["recommend", tiny_model.root, "--users-file", asked, "-o", out, "-k", 4]
    command = [sys.executable, "-c", KILLED, *map(str, words)]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == -signal.SIGKILL
    begun = [*(tmp_path / f"{out.name}.parts").iterdir()]
    assert not out.exists()
    assert len(begun) == 1 + 2 + 1  # what the run is of, two chunks, and one half written
    taken = []
    monkeypatch.setattr(
        "elasticrec.recommending._chunk", lambda shared, n: taken.append(n) or _chunk(shared, n)
    )
    assert f"wrote the lists of {len(everyone)} users" in run(*words)
    assert taken == [*range(80, len(everyone), 40)]
    read = {"csv": pl.read_csv, "jsonl": pl.read_ndjson, "parquet": pl.read_parquet}[kind](out)
    expected = [
        (user, place, each.id, each.title or None)
        for user, listed in ranker.recommend_many(k=4)
        for place, each in enumerate(listed, start=1)
    ]
    rows = read.select("user", "place", "item", "title").rows()
    assert [(*row[:3], row[3] or None) for row in rows] == expected
    assert not out.with_name(f"{out.name}.parts").exists()
    if kind == "parquet":
        monkeypatch.undo()
        again = tmp_path / "again.parquet"
        run(*words[:5], again, "-k", 4, "--engine", "processes")
        assert pl.read_parquet(again).equals(read)


def test_another_run_does_not_take_up_the_chunks_of_the_one_before(ranker, tmp_path):
    out = tmp_path / "lists.csv"
    parts = out.with_name("lists.csv.parts")
    parts.mkdir()
    (parts / "000000000000.csv").write_text("chunks of something else")
    assert write_lists(ranker, [7, 14], out, k=3) == 2
    assert out.read_text().startswith("user,place,item,score,title\n7,1,")


def test_lists_are_written_in_known_forms_only(tiny_model, tmp_path):
    (tmp_path / "users.txt").write_text("14\n")
    line = refused(
        "recommend", tiny_model.root, "--users-file", tmp_path / "users.txt", "-o", "lists.xlsx"
    )
    assert line == "error: lists.xlsx: expected a name that ends in .csv, .jsonl, .parquet"
