"""Fresh environments: a wheel and what it requires, and nothing else of this environment."""

import os
import subprocess
import sys
import zipfile
from email.parser import BytesParser
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent


def build(folder, target):
    """The files that `make TARGET` writes into a folder, by the package and the ending."""
    folder.mkdir(exist_ok=True)
    words = ["make", "-o", f"{sys.prefix}/.ready", f"VENV={sys.prefix}", f"DIST={folder}", target]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {path.name.partition("-")[0] + path.suffix: path for path in folder.iterdir()}


def metadata(wheel):
    """The metadata of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        return BytesParser().parsebytes(archive.read(name))


class Fresh:
    """A new virtual environment with some wheels and what they require."""

    def __init__(self, root, *wheels, extras=()):
        self.root, self.bin = root, root / "bin"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(root)], check=True)
        self.pip("install", "--quiet", "--no-index", "--no-deps", *map(str, wheels))
        wanted = [text for wheel in wheels for text in metadata(wheel).get_all("Requires-Dist")]
        self._lend(needed([Requirement(text) for text in wanted], ("", *extras)))

    def _lend(self, names):
        """Link distributions of the present environment."""
        (site,) = self.root.glob("lib/python*/site-packages")
        for name in names:
            found = distribution(name)
            for top in {Path(file).parts[0] for file in found.files} - {"..", "__pycache__"}:
                if not (site / top).exists():
                    (site / top).symlink_to(found.locate_file(top))

    def pip(self, *words):
        """What pip says of this environment."""
        command = [sys.executable, "-m", "pip", "--python", str(self.bin / "python"), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def run(self, command, folder, *, code=0):
        """What a shell prints for a command, in a folder."""
        clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        clean["PATH"] = os.pathsep.join((str(self.bin), clean["PATH"]))
        done = subprocess.run(
            command, shell=True, cwd=folder, env=clean, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, (command, done.stdout, done.stderr)
        return done.stdout + done.stderr


def needed(requirements, extras=("",)):
    """Names of the distributions that these require, but for elasticrec's own."""
    found = set()
    for wanted in requirements:
        unmet = wanted.marker and not any(wanted.marker.evaluate({"extra": e}) for e in extras)
        if unmet or wanted.name.startswith("elasticrec"):
            continue
        key = (wanted.name.lower(), *sorted(wanted.extras))
        waiting = [key]
        while waiting:
            name, *more = waiting.pop()
            if (name, *more) in found:
                continue
            found.add((name, *more))
            for text in distribution(name).requires or []:
                inner = Requirement(text)
                if not inner.marker or any(
                    inner.marker.evaluate({"extra": e}) for e in ("", *more)
                ):
                    waiting.append((inner.name.lower(), *sorted(inner.extras)))
    return {name for name, *_ in found}
