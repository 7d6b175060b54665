import hashlib
import json
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from elasticrec.bundle.header import Kind, Layout
from elasticrec.stream.person import vector_file
from elasticrec.cli.main import app
from elasticrec.storing import load_coded

VECTOR = 48 + 2 * 32


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def test_writes_a_bundle_within_its_budget_that_a_device_ranks_with(coded_folder, tmp_path):
    out = tmp_path / "watch.elastic"
    done = run("customize", coded_folder.root, "--budget", "8KB", "-o", out)
    assert done.exit_code == 0, done.output
    content = out.read_bytes()
    assert len(content) <= 8_000 - VECTOR
    assert f"{len(content):,} bytes of 8,000" in done.output
    assert "recall@20 for persons known by vector+history" in done.output
    assert Layout.of(content).model_id.hex() == coded_folder.model_id
    device = pytest.importorskip("elasticrec_device")
    split, coded = coded_folder.split(), load_coded(coded_folder)
    history = split.item_ids.take(split.train.of(3)).values.tolist()
    vector = tmp_path / "vector"
    vector.write_bytes(vector_file(coded.users[3], coded.codes, coded_folder.model_id))
    with device.open(out, sha256=hashlib.sha256(content).hexdigest()) as bundle:
        listed = bundle.recommend(history=history, user=vector, k=20)
        assert len(listed) == 20
        assert listed.unknown == 0
        wanted = set(split.item_ids.take(split.test.of(3)).values.tolist())
        by_chance = 20 * len(wanted) / 200
        assert len(wanted & {each.id for each in listed}) > by_chance


def test_several_budgets_have_a_file_each_and_withdrawn_items_are_never_listed(
    coded_folder, tmp_path
):
    ids = coded_folder.split().item_ids.values.tolist()
    (tmp_path / "gone.txt").write_text(f"{ids[0]}\n\n{ids[7]}\nnever-heard-of\n")
    done = run(
        "customize", coded_folder.root, "--budget", "6KB", "--budget", "9KB", "--ids", "none",
        "--map", "--without", tmp_path / "gone.txt", "-o", tmp_path / "b.elastic", "--json",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    listed = json.loads(done.stdout)["bundles"]
    assert [each["budget_bytes"] for each in listed] == [6_000, 9_000]
    assert [each["path"].rsplit("/")[-1] for each in listed] == ["b-6KB.elastic", "b-9KB.elastic"]
    for each in listed:
        content = (tmp_path / each["path"]).read_bytes()
        assert len(content) == each["file_bytes"] <= each["budget_bytes"] - VECTOR
        assert hashlib.sha256(content).hexdigest() == each["sha256"]
        layout = Layout.of(content)
        at, length = layout.sections[Kind.WITHDRAWN]
        assert np.frombuffer(content[at : at + length], "<u4").tolist() == [0, 7]
        assert Kind.MAP in layout.sections
        assert Kind.IDS not in layout.sections
    assert listed[0]["estimate"] <= listed[1]["estimate"]


def test_measured_quality_stands_in_the_bundle(coded_folder, tmp_path):
    out = tmp_path / "b.elastic"
    done = run(
        "customize", coded_folder.root, "--budget", "8KB", "-o", out, "--evaluate", "--refine", 3,
        "--name", "a watch", "--device", "cpu", "--json",
    )  # fmt: skip
    (made,) = json.loads(done.stdout)["bundles"]
    layout, content = Layout.of(out.read_bytes()), out.read_bytes()
    at, length = layout.sections[Kind.META]
    about = json.loads(content[at : at + length])
    assert about["quality"] == made["measured"] > 0
    assert (about["name"], about["budget"], about["metric"]) == ("a watch", 8_000, "recall@20")


def test_a_measured_search_is_no_worse_on_validation(coded_folder, tmp_path):
    asked = ("customize", coded_folder.root, "--budget", "8KB", "--evaluate", "--part",
             "validation", "--device", "cpu", "--json", "-o")  # fmt: skip
    made = [
        json.loads(run(*asked, tmp_path / name, *more).stdout)["bundles"][0]
        for name, more in (("estimated.elastic", ()), ("measured.elastic", ("--measured",)))
    ]
    assert made[1]["measured"] >= made[0]["measured"] > 0
    assert made[1]["file_bytes"] <= 8_000 - VECTOR


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--budget", "2KB", "-o", "b.elastic"), "the smallest possible is"),
        (("--budget", "5", "-o", "no/such/b.elastic"), "there is no folder"),
        (("--budget", "much", "-o", "b.elastic"), "'much' is no budget"),
        (("--budget", "8KB", "-o", "b.elastic", "--without", "nothing.txt"), "no such file"),
    ],
)
def test_bad_input_is_one_line(coded_folder, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    done = run("customize", coded_folder.root, *arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "b.elastic").exists()


def test_a_list_of_something_else_and_a_model_without_codes_are_refused(
    coded_folder, searchable, tmp_path
):
    (tmp_path / "gone.txt").write_text("x\ny\n")
    out = tmp_path / "b.elastic"
    wrong = run(
        "customize", coded_folder.root, "--budget", "8KB", "-o", out,
        "--without", tmp_path / "gone.txt",
    )  # fmt: skip
    assert "none of 2 withdrawn items is known, the first is 'x'" in wrong.stderr
    plain = run("customize", searchable.root, "--budget", "8KB", "-o", out)
    assert "`elasticrec estimate` makes one for bundles" in plain.stderr
    assert (wrong.exit_code, plain.exit_code) == (2, 2)


def test_customizing_imports_no_torch(coded_folder, tmp_path):
    words = ["customize", str(coded_folder.root), "--budget", "8KB", "-o", str(tmp_path / "b")]
    code = (
        "import sys\n"
        "from elasticrec.cli.main import app\n"
        f"app({words!r}, standalone_mode=False)\n"
        "heavy = {'torch', 'scipy', 'sklearn', 'pandas', 'polars', 'matplotlib'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"


def test_the_catalogue_is_the_one_that_bundles_name(coded_folder, tmp_path):
    out = tmp_path / "catalogue.json"
    done = run("catalogue", coded_folder.root, "-o", out)
    assert done.exit_code == 0, done.output
    stored = json.loads(out.read_text())
    assert stored["model_id"] == coded_folder.model_id
    assert len(stored["ids"]) == 200
    run("customize", coded_folder.root, "--budget", "8KB", "-o", tmp_path / "b.elastic")
    content = (tmp_path / "b.elastic").read_bytes()
    at, _ = Layout.of(content).sections[Kind.SHAPE]
    hashed = hashlib.sha256(out.read_bytes())
    assert content[at + 24 : at + 56] == hashed.digest()
    assert hashed.hexdigest() in done.output


def test_inspect_shows_what_a_bundle_holds(coded_folder, tmp_path):
    out, picture = tmp_path / "b.elastic", tmp_path / "kept.png"
    run("customize", coded_folder.root, "--budget", "8KB", "-o", out)
    pytest.importorskip("matplotlib")
    done = run("inspect", out, "--model", coded_folder.root, "--heat-map", picture)
    assert done.exit_code == 0, done.output
    for words in (
        "200 items in 5 groups, 4 blocks; ids as u32; for persons known by vector+history",
        "metric: recall@20", "budget: 8000", "trained 2026-01-02", "NEIGHBOURS", "CODES",
        hashlib.sha256(out.read_bytes()).hexdigest(), "what each group keeps",
    ):  # fmt: skip
        assert words in " ".join(done.output.split())
    assert picture.stat().st_size > 1000


def test_inspect_refuses_damage_and_another_model(coded_folder, searchable, tmp_path):
    out = tmp_path / "b.elastic"
    run("customize", coded_folder.root, "--budget", "8KB", "-o", out)
    content = bytearray(out.read_bytes())
    other = run("inspect", out, "--model", searchable.root)
    assert "expected model" in other.stderr
    content[-1] ^= 1
    out.write_bytes(content)
    damaged = run("inspect", out)
    assert "is damaged, its checksum does not match" in damaged.stderr
    out.write_bytes(content[:-5])
    cut = run("inspect", out)
    assert "no whole bundle" in cut.stderr
    assert (other.exit_code, damaged.exit_code, cut.exit_code) == (2, 2, 2)
    assert "Traceback" not in damaged.output + cut.output
