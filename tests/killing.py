"""Kills a process before each call that changes a name, and prints what is found afterwards.

    python -m tests.killing FOLDER MODULE [STEP]

The module has `prepare(folder)`, which makes what is to be changed, `change(folder)` and
`read(folder)`. Each line is a JSON object: the call before which the process ended, what a reader
found then, and what after another `change`. With a step, only some calls are tried.
"""

import importlib
import itertools
import json
import os
import shutil
import signal
import sys
from pathlib import Path

CALLS = ("replace", "rename", "link", "unlink", "rmdir")


def ended(number, act):
    """The call at which a fork of this process ended itself; None where it came to its end."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        arm(number, write)
        act()
        os._exit(0)
    os.close(write)
    _, status = os.waitpid(child, 0)
    with os.fdopen(read) as told:
        called = told.read()
    if os.WIFEXITED(status):
        assert os.WEXITSTATUS(status) == 0, "the writer failed by itself"
        return None
    assert os.WTERMSIG(status) == signal.SIGKILL
    return called


def arm(number, told):
    """Let this process end itself before the number-th call of os that changes names."""
    counted = itertools.count()

    def wrapped(name, real):
        def call(*words, **more):
            if next(counted) == number:
                os.write(told, f"{name} {Path(words[-1]).name}".encode())
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*words, **more)

        return call

    for name in CALLS:
        setattr(os, name, wrapped(name, getattr(os, name)))


def main(folder, module, step="1"):
    """Try the calls one after the other, each in a fresh copy."""
    made, start = importlib.import_module(module), Path(folder) / "start"
    os.fsync = lambda _: None  # matters to disks, not to processes, and is slow
    made.prepare(start)
    for number in itertools.count(0, int(step)):
        root = Path(folder) / str(number)
        if start.exists():
            shutil.copytree(start, root)
        called = ended(number, lambda: made.change(root))  # noqa: B023
        if called is None:
            return
        found = made.read(root)
        made.change(root)
        print(json.dumps({"before": called, "found": found, "then": made.read(root)}), flush=True)
        shutil.rmtree(root)


if __name__ == "__main__":
    main(*sys.argv[1:])
