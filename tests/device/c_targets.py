"""Machines that the C runtime is built for by zig, and the sizes of its code there."""

import importlib.util
import subprocess
import sys
from dataclasses import dataclass

from tests.device.c_runtime import DRIVER, FOLDER, STRICT

ZIG = [sys.executable, "-m", "ziglang", "cc"]


@dataclass(frozen=True)
class Target:
    """One machine: zig's triple, its options, and the program that runs it here."""

    name: str
    triple: str
    options: tuple[str, ...] = ()
    runner: str = ""
    """The one of Debian's `qemu-user`; nothing where the code is only built."""


BARE = ("-ffreestanding",)
TARGETS = (
    Target("Linux x86_64", "x86_64-linux-musl", (), "qemu-x86_64"),
    Target("Linux aarch64", "aarch64-linux-musl", (), "qemu-aarch64"),
    Target("Linux armv7", "arm-linux-musleabihf", ("-mcpu=cortex_a7",), "qemu-arm"),
    Target("Linux riscv64", "riscv64-linux-musl", (), "qemu-riscv64"),
    Target("Linux mips, big-endian", "mips-linux-musleabi", (), "qemu-mips"),
    Target("Windows x86_64", "x86_64-windows-gnu"),
    Target("macOS aarch64", "aarch64-macos"),
    Target("macOS x86_64", "x86_64-macos"),
    Target("iOS aarch64", "aarch64-ios", BARE),
    Target("Android aarch64", "aarch64-linux-android", BARE),
    Target("Android armv7", "arm-linux-androideabi", (*BARE, "-mcpu=cortex_a7")),
    Target("Cortex-M7", "thumb-freestanding-eabihf", (*BARE, "-mcpu=cortex_m7")),
    Target("WebAssembly", "wasm32-freestanding", ("-msimd128", "-mbulk-memory")),
)


def has_zig():
    """Whether zig is installed, which the wheel `ziglang` brings."""
    return importlib.util.find_spec("ziglang") is not None


def run(words):
    """Run a build; its warnings are errors."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-5000:]


def build_object(target, folder):
    """The object file of the runtime alone."""
    source, made = folder / "it.c", folder / f"{target.triple}.o"
    source.write_text('#define ELASTICREC_IMPLEMENTATION\n#include "elasticrec.h"\n')
    words = [*ZIG, "-target", target.triple, *target.options, *STRICT, "-Os", f"-I{FOLDER}"]
    run([*words, "-c", str(source), "-o", str(made)])
    return made


def build_driver(target, folder):
    """The driver of the tests; the first one for a machine builds that machine's libc: a minute."""
    made = folder / f"driver-{target.triple}"
    words = [*ZIG, "-target", target.triple, *target.options, *STRICT, "-O2"]
    run([*words, str(DRIVER), "-o", str(made)])
    return made


def code_bytes(made):
    """Bytes of machine code and constants in an object file, by LLVM's `size`."""
    said = subprocess.run(["llvm-size", str(made)], check=True, capture_output=True, text=True)
    return sum(map(int, said.stdout.splitlines()[1].split()[:2]))
