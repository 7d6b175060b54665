"""The Swift package: its C part by clang, and all of it where a Swift compiler is."""

import re
import shutil
import subprocess

import pytest
import tree_sitter
import tree_sitter_swift

from tests.device import c_runtime, c_targets

FOLDER = c_runtime.FOLDER.parent / "swift"
EXAMPLE = FOLDER.parent / "examples" / "Recommend.swift"
PART = FOLDER / "Sources" / "CElasticrec"


def test_clang_imports_the_module_and_compiles_the_runtime(tmp_path):
    clang = ["clang"] if shutil.which("clang") else c_targets.ZIG  # zig's C compiler is clang
    if clang == c_targets.ZIG and not c_targets.has_zig():
        pytest.skip("neither clang nor zig here: the module map was not read")
    source = tmp_path / "user.c"
    source.write_text(
        "#pragma clang module import CElasticrec\n"
        "int listed(const elasticrec_answer *answer) { return (int)answer->listed; }\n"
    )
    words = [*clang, "-std=c99", "-fmodules", f"-fmodules-cache-path={tmp_path}", "-c"]
    words += ["-o", str(tmp_path / "user.o")]
    map_file = f"-fmodule-map-file={PART / 'include' / 'module.modulemap'}"
    subprocess.run([*words, map_file, str(source)], check=True)
    source.write_text("int listed(const elasticrec_answer *answer) { return answer->listed; }\n")
    assert subprocess.run([*words, str(source)], check=False, capture_output=True).returncode != 0
    words = [*clang, *c_runtime.STRICT, f"-I{PART / 'include'}", str(PART / "celasticrec.c")]
    subprocess.run([*words, "-c", "-o", str(tmp_path / "it.o")], check=True)


def test_every_c_name_and_field_of_the_wrapper_is_in_the_header():
    source = (FOLDER / "Sources" / "Elasticrec" / "ElasticStream.swift").read_text("utf-8")
    header = (
        (c_runtime.FOLDER / "elasticrec.h").read_text("utf-8").partition("#if defined(ELAST")[0]
    )
    used = {*re.findall(r"\belasticrec_\w+", source)}
    used |= {*re.findall(r"\b(?:ask|calls|answer|found|sizes|part|pointee)\.(\w+)", source)}
    ours = {"unknown", "map", "withUnsafeBytes", "items", "pointee"}  # of Swift's own types
    assert used - ours <= {*re.findall(r"\w+", header)}
    functions = {*re.findall(r"^\w[\w ]*?\b(elasticrec_\w+)\(", header, flags=re.MULTILINE)}
    assert functions - used == {"elasticrec_find", "elasticrec_similar"}  # which it has no need of


@pytest.mark.parametrize("path", [*FOLDER.rglob("*.swift"), EXAMPLE], ids=lambda path: path.name)
def test_the_swift_code_has_the_syntax_of_swift(path):
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_swift.language()))
    assert not parser.parse(path.read_bytes()).root_node.has_error
    assert parser.parse(path.read_bytes() + b"}").root_node.has_error


def test_the_package_builds(tmp_path):
    if shutil.which("swift") is None:
        pytest.skip("no Swift compiler here: the Swift code was not compiled")
    words = ["swift", "build", "--package-path", str(FOLDER), "--scratch-path", str(tmp_path)]
    subprocess.run(words, check=True)
