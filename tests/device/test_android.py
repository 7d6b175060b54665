"""The Java class over JNI, on the machine's JDK: golden and hostile files."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.device import c_runtime, c_targets, test_c
from tests.device import test_python_hostile as hostile

FOLDER = c_runtime.FOLDER.parent / "android"
SHIM = FOLDER / "src" / "main" / "cpp" / "elasticrec_jni.c"
CLASS = FOLDER / "src" / "main" / "java" / "org" / "elasticrec" / "ElasticStream.java"


def headers():
    """The options that name the JDK's headers; None without a JDK."""
    compiler = shutil.which("javac")
    folder = compiler and Path(os.path.realpath(compiler)).parents[1] / "include"
    return [f"-I{folder}", f"-I{folder / 'linux'}"] if folder and folder.is_dir() else None


def compiled(made, program):
    """Compile the class, its JNI code and a program into a folder."""
    words = [*c_runtime.STRICT, "-O2", "-fPIC", "-shared", *headers(), f"-I{c_runtime.FOLDER}"]
    subprocess.run(["gcc", *words, SHIM, "-o", made / "libelasticrec.so"], check=True)
    subprocess.run(["javac", "-Xlint:all", "-Werror", "-d", made, CLASS, program], check=True)


@pytest.fixture(scope="module", name="device")
def java_device(tmp_path_factory):
    """The class, asked through its driver."""
    if shutil.which("gcc") is None or headers() is None:
        pytest.skip("no JDK or no C compiler here: the Java class was not tested")
    made = tmp_path_factory.mktemp("java")
    compiled(made, FOLDER / "testing" / "Driver.java")
    device = c_runtime.Device(
        ["java", "-Xcheck:jni", f"-Djava.library.path={made}", "-cp", str(made), "Driver"]
    )
    yield device
    device.close()


UNSIGNED = [name for name in test_c.STREAMS if not test_c.STREAMS[name]["signed"]]


@pytest.mark.parametrize("name", UNSIGNED)
def test_answers_as_expected(device, name):
    test_c.test_answers_as_expected(device, name)
    test_c.test_a_growing_stream_answers_as_expected(device, name)


def test_refuses_the_hostile_files_that_need_no_key(device):
    for case in hostile.EXPECTED["cases"]:
        if case["kind"] != "catalogue" and not case["key"]:
            with pytest.raises(c_runtime.StreamError, match=r"found \d+, expected \d+"):
                test_c.read(device, case, None)


@pytest.mark.slow
@pytest.mark.skipif(not c_targets.has_zig(), reason="needs zig: pip install ziglang")
def test_the_shim_compiles_for_arm64(tmp_path):
    jdk = headers()
    if jdk is None:
        pytest.skip("no JDK here")
    words = [*c_targets.ZIG, "-target", "aarch64-linux-musl", *c_runtime.STRICT, "-O2", "-fPIC"]
    words += [*jdk, f"-I{c_runtime.FOLDER}", "-c", str(SHIM), "-o", str(tmp_path / "shim.o")]
    c_targets.run(words)
