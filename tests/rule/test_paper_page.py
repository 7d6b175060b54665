"""The page that ties the paper to this code must stay true."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/paper.md").read_text(encoding="utf-8")


def test_every_test_that_the_page_names_exists():
    named = re.findall(r"\[`(test_\w+)`\]\(\.\./(tests/[\w/]+\.py)\)", PAGE)
    assert len(named) > 20
    for name, file in named:
        assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8"), f"{file}: {name}"


def test_every_module_that_the_page_links_exists_and_is_named_alike():
    linked = re.findall(r"\[`([\w/]+\.py)`\]\(\.\./src/elasticrec/([\w/]+\.py)\)", PAGE)
    assert len(linked) > 20
    for name, file in linked:
        assert file.endswith(name)
        assert (ROOT / "src/elasticrec" / file).is_file(), file


def test_every_name_in_the_table_is_in_one_of_its_modules():
    rows = [line.split("|")[2:4] for line in PAGE.splitlines() if line.startswith("| ")]
    for names, modules in rows[1:]:
        files = re.findall(r"\.\./(src/[\w/]+\.py)", modules)
        text = "".join((ROOT / file).read_text(encoding="utf-8") for file in files)
        for name in re.findall(r"`\.?(\w[\w.]*)`", names):
            assert name.split(".")[-1] in text, f"{name} is not in {files}"


def test_all_fourteen_entries_of_the_ledger_are_there():
    ledger = PAGE.split("## The ledger")[1]
    assert re.findall(r"^(\d+)\. ", ledger, flags=re.MULTILINE) == [str(n) for n in range(1, 15)]
