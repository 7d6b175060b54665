"""The Java class over JNI, built on the machine's JDK and asked through its driver."""

import os
import shutil
import subprocess
from pathlib import Path

from tests.device import c_runtime

FOLDER = c_runtime.FOLDER.parent / "android"
SHIM = FOLDER / "src" / "main" / "cpp" / "elasticrec_jni.c"
CLASS = FOLDER / "src" / "main" / "java" / "org" / "elasticrec" / "ElasticStream.java"

STUBS = FOLDER / "testing"
"""Where the annotations are that the class is compiled by."""


def headers():
    """The options that name the JDK's headers; None without a JDK."""
    compiler = shutil.which("javac")
    folder = compiler and Path(os.path.realpath(compiler)).parents[1] / "include"
    return [f"-I{folder}", f"-I{folder / 'linux'}"] if folder and folder.is_dir() else None


def compiled(made, program):
    """Compile the class, its JNI code and a program into a folder, without its annotations."""
    words = [*c_runtime.STRICT, "-O2", "-fPIC", "-shared", *headers(), f"-I{c_runtime.FOLDER}"]
    subprocess.run(["gcc", *words, SHIM, "-o", made / "libelasticrec.so"], check=True)
    words = ["javac", "-Xlint:all", "-Werror", "-sourcepath", STUBS, "-implicit:none"]
    subprocess.run([*words, "-d", made, CLASS, program], check=True)


def can_run():
    """True where there are a JDK and the C compiler that builds its library."""
    return shutil.which("gcc") is not None and headers() is not None


def device(made, *options):
    """The class in another process, compiled into a folder."""
    compiled(made, FOLDER / "testing" / "Driver.java")
    words = ["java", *options, f"-Djava.library.path={made}", "-cp", str(made), "Driver"]
    return c_runtime.Device(words)
