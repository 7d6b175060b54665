"""The C runtime through its driver in another process, with the Python runtime's interface."""

import hashlib
import subprocess
from pathlib import Path
from types import SimpleNamespace

FOLDER = Path(__file__).resolve().parents[2] / "device" / "c"
DRIVER = FOLDER / "testing" / "driver.c"
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror")


class StreamError(ValueError):
    """What the C runtime refused, in its words."""


def build(compiler, to, *options):
    """The path of a driver that a compiler has built without a warning."""
    words = [*compiler, *STRICT, "-O2", *options, str(DRIVER), "-o", str(to)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-5000:]
    return to


class Device:
    """A driver in another process: `open` and `StreamError` as the Python runtime has them."""

    StreamError = StreamError

    def __init__(self, command, simd=1):
        self._simd = simd  # 0: plain C; 1: with shuffles, where the machine has them
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        self.key = None

    def open(self, source, key=None, min_sequence=0, most=0):
        """A stream; the driver has one at a time, so each `open` ends the stream before."""
        self.key = None if key is None else bytes.fromhex(key)
        data = bytes_of(source)
        opening = f"open {hexed(data)} {key or '-'} {min_sequence} {most} {self._simd}"
        _, stream_bytes, work_bytes = self.ask(opening)
        return Stream(self, source, int(stream_bytes), int(work_bytes))

    def ask(self, line):
        """The words of an answer after `ok`."""
        self._write(line)
        while True:
            verb, *words = self._process.stdout.readline().split(maxsplit=1) or ("nothing",)
            text = words[0].rstrip("\n") if words else ""
            match verb:
                case "sha256":
                    self._write(hashlib.sha256(bytes.fromhex(text)).hexdigest())
                case "verify":
                    signature, _, message = text.partition(" ")
                    self._write(str(int(self._verified(signature, message))))
                case "refused":
                    raise StreamError(text)
                case "unknown":
                    raise LookupError(line)
                case "ok":
                    return text.split()
                case _:
                    raise AssertionError(f"{line[:200]!r}: {verb} {text}")

    def _write(self, line):
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def _verified(self, signature, message):
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        key = Ed25519PublicKey.from_public_bytes(self.key)
        try:
            key.verify(bytes.fromhex(signature), bytes.fromhex(message))
        except InvalidSignature:
            return False
        return True

    def close(self):
        """End the driver; what it leaks or breaks fails here."""
        self._process.stdin.close()
        assert self._process.wait(60) == 0
        self._process.stdout.close()


def bytes_of(source):
    return source.read_bytes() if isinstance(source, Path) else bytes(source)


def hexed(data):
    return data.hex() or "-"


class Stream:
    """The stream that a driver has open."""

    def __init__(self, device, source, stream_bytes, work_bytes):
        self._device, self._source = device, source
        self.stream_bytes, self.work_bytes, self.question_bytes = stream_bytes, work_bytes, 0
        self._text = self.info()["ids"] == "text"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def list_of(self, ids):
        if self._text:
            return ",".join(each.encode().hex() for each in ids) or "-"
        return ",".join(str(each) if 0 <= each < 2**64 else str(2**64 - 1) for each in ids) or "-"

    def _id(self, word):
        if word == "-":
            return None
        return bytes.fromhex(word).decode() if self._text else int(word)

    def _items(self, words):
        unknown, question_bytes, *items = words
        self.question_bytes = int(question_bytes)
        found = Recommendations()
        found.unknown = int(unknown)
        for item in items:
            own, score, why = item.split(":")
            found.append(SimpleNamespace(id=self._id(own), score=int(score), why=self._id(why)))
        return found

    def recommend(
        self,
        history=(),
        vector=None,
        k=20,
        exclude=(),
        only=None,
        repeat=False,
        why=False,
        diversity=0,
    ):
        """The list; `why` is always answered."""
        assert why in (True, False)
        words = (
            *("ask", k, int(repeat), diversity),
            *("none" if vector is None else hexed(bytes_of(vector)), self.list_of(history)),
            *(self.list_of(exclude), "all" if only is None else self.list_of(only)),
        )
        return self._items(self._device.ask(" ".join(map(str, words))))

    def similar(self, item, k=20):
        return self._items(self._device.ask(f"similar {self.list_of([item])} {k}"))

    def find(self, item):
        return int(self._device.ask(f"find {self.list_of([item])}")[0])

    def refresh(self, more=None):
        data = bytes_of(self._source if more is None else more)
        return int(self._device.ask(f"refresh {hexed(data)}")[0])

    def withdraw(self, source):
        self._device.ask(f"withdraw {hexed(bytes_of(source))}")

    @property
    def ids(self):
        return list(map(self._id, self._device.ask("ids")))

    def info(self):
        """What is also in the Python runtime's `info`, by the same names."""
        words = self._device.ask("info")
        names = "sequence trained least length bytes items blocks listable chunks columns"
        found = dict(zip(names.split(), map(int, words), strict=False))
        found["ids"] = ("dense", "u32", "u64", "text")[int(words[10])]
        found["person"] = ("history", "vector and history")[int(words[12])]
        found |= {"min_support": int(words[13]), "model_id": words[14]}
        return found | {"complete": found["bytes"] == found["length"]}


class Recommendations(list):
    """Listed items, best first."""

    unknown = 0
