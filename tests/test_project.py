"""The project as a whole: versions agree, pages are fresh, nothing names a machine."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import elasticrec
from scripts import cli_reference, large_files

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


BINARY = {".gz", ".xz", ".npz", ".png", ".elastic", ".vector", ".patch"}
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


def test_links_of_the_front_pages_lead_somewhere():
    for page in ["README.md", "CONTRIBUTING.md", "benchmarks/README.md"]:
        for target in re.findall(r"\]\(([^)#]+)\)", (ROOT / page).read_text(encoding="utf-8")):
            if not target.startswith("https://"):
                assert ((ROOT / page).parent / target).exists(), f"{page} links to {target}"
