"""The project as a whole: versions agree, pages are fresh, nothing names a machine."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import elasticrec
from scripts import cli_reference, large_files, settings_tables

ROOT = Path(__file__).resolve().parent.parent


def tracked_files():
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]


def test_the_changelog_starts_with_the_package_version():
    versions = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert versions[0] == elasticrec.__version__


def test_the_citation_names_the_package_version():
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), flags=re.MULTILINE)
    assert cited.group(1) == elasticrec.__version__


def test_the_command_reference_is_fresh():
    assert cli_reference.PAGE.read_text(encoding="utf-8") == cli_reference.render(), "run make docs"


def test_an_unknown_attribute_of_the_package_is_refused():
    with pytest.raises(AttributeError, match="has no attribute 'ElasticRecomender'"):
        _ = elasticrec.ElasticRecomender


def test_tab_completion_offers_the_recommender_without_loading_it():
    code = (
        "import sys, elasticrec; "
        "print('ElasticRecommender' in dir(elasticrec), 'torch' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "True False\n"


BINARY = {".gz", ".npz", ".png", ".elastic", ".vector", ".withdrawn", ".zip", ".wasm"}
MACHINE_PATH = re.compile(r"(?<![\w.:/…-])/(?:work|tmp|root|home|opt|Users|mnt)/\w")


@pytest.mark.parametrize("text", ["see {}", '"{}"', "={}"])
@pytest.mark.parametrize("folder", ["work", "tmp", "home", "root"])
def test_a_machine_path_is_recognised(text, folder):
    assert MACHINE_PATH.search(text.format(f"/{folder}/books.csv"))


def test_no_tracked_file_names_a_path_of_some_machine():
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    found = []
    for path in tracked_files():
        if path.suffix in BINARY or path == Path(__file__):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if MACHINE_PATH.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}")
    assert found == []


def test_no_tracked_file_is_large():
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    assert large_files.main([str(path) for path in tracked_files()]) == 0


def test_a_large_file_is_noticed(tmp_path):
    path = tmp_path / "large.bin"
    path.write_bytes(b"0" * (large_files.LIMIT_BYTES + 1))
    assert large_files.main([str(path)]) == 1


PAGES = sorted(
    page.relative_to(ROOT)
    for pattern in ("*.md", "docs/**/*.md", "device/*/*.md", "e*/*.md", "benchmarks/*.md")
    for page in ROOT.glob(pattern)
)
CODE = (".py", ".js", ".h")
PUBLISHED = (
    "README.md",
    "device/c/README.md",
    "device/wasm/README.md",
    "device/python/README.md",
    "device/js/README.md",
    "examples/README.md",
)
"""What package registries show."""


def prose(path):
    """The text of a page without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)


OURS = re.compile(r"https://[a-z.]+\.com/elasticrec/elasticrec/((blob|tree)/)?main/")
"""How pages that are published elsewhere, such as the README, name files of the project."""


def links(page):
    """Text, path and anchor of each link of a page within the project."""
    for text, target in re.findall(r"\[([^\]]*)\]\(([^)\s]+)\)", prose(ROOT / page)):
        path, _, anchor = target.partition("#")
        if ours := OURS.match(path):
            yield text, ROOT / path[ours.end() :], anchor
        elif not target.startswith(("https://", "http://")):
            yield text, (ROOT / page).parent / path if path else ROOT / page, anchor


def anchors(path):
    """The anchors of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", prose(path), flags=re.M)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_lead_somewhere(page):
    wrong = []
    for text, path, anchor in links(page):
        if not path.exists() or (anchor and anchor not in anchors(path)):
            wrong.append(f"[{text}] leads to {path}#{anchor}")
    assert wrong == []


@pytest.mark.parametrize("page", PUBLISHED)
def test_links_of_published_pages_are_whole(page):
    assert re.findall(r"\]\((?!https://)[^)]*\)", prose(ROOT / page)) == []


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_names_that_link_to_code_are_defined_there(page):
    wrong = []
    for text, path, _ in links(page):
        name = re.fullmatch(r"`([\w.]+)(\(\))?`", text)
        if path.suffix not in CODE or name is None or name[1].endswith(CODE):
            continue
        last = name[1].rpartition(".")[2]
        defined = rf"\b(def|class|const|function) {last}\b|^\s*(async )?{last}\s*[(:=]"
        if not path.exists() or not re.search(defined, path.read_text("utf-8"), flags=re.M):
            wrong.append(f"{name[1]} is not defined in {path}")
    assert wrong == []


@pytest.mark.parametrize("page", settings_tables.TABLES)
def test_tables_of_settings_are_fresh(page):
    path = ROOT / "docs" / page
    fresh = settings_tables.render(path, settings_tables.TABLES[page])
    assert path.read_text(encoding="utf-8") == fresh, "run make docs"


def test_a_wrong_link_is_noticed(tmp_path, monkeypatch):
    (tmp_path / "page.md").write_text("# One *word*\n[a](#one-word) [`b`](b.py) [c](#two)\n")
    (tmp_path / "b.py").write_text("def c(): pass\n")
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    with pytest.raises(AssertionError, match=r"\[c\] leads to .*page\.md#two"):
        test_links_lead_somewhere("page.md")
    with pytest.raises(AssertionError, match=r"b is not defined in .*b\.py"):
        test_names_that_link_to_code_are_defined_there("page.md")
