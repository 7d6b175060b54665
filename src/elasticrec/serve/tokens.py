"""Tokens: each lets one user's device read her vector of one model until a date.

A token is `e1.KEY.PAYLOAD.SIGNATURE`: the name of one of the service's keys, the base64url of
`[model, user, date]`, and an HMAC-SHA256. The first key signs, all of them verify, so a new one is
put in front, and the old one is removed once its last token has expired.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from elasticrec.errors import InputError

VARIABLE = "ELASTICREC_TOKEN_KEYS"
"""The environment variable with the keys, where no file is named."""
VERSION = "e1"
LEAST_BYTES = 32
"""The shortest key."""
LONGEST = 2_048
"""No token has more characters."""
_KEY_NAME = re.compile(r"[A-Za-z0-9_-]{1,32}")


class TokenError(Exception):
    """A token that does not open a model."""

    def __init__(self, reason: str) -> None:
        """A refusal; the reason is `missing`, `malformed`, `unsigned`, `expired`, `other-model`."""
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Keys:
    """The secrets that tokens are signed with, by their names; the first signs."""

    secrets: Mapping[str, bytes] = field(repr=False)
    """At least 32 bytes each; empty where no token is accepted."""

    @classmethod
    def load(cls, path: Path | None = None) -> Keys:
        """Keys from a file, else from the environment; none where neither has any."""
        if path is None:
            return cls.parse(os.environ.get(VARIABLE, ""), VARIABLE)
        return cls.parse(path.read_text(encoding="utf-8", errors="replace"), str(path))

    @classmethod
    def parse(cls, text: str, source: str) -> Keys:
        """Keys from `name:base64` entries, one per line or with commas between; # starts a comment.

        Errors name their source and never show them.
        """
        found: dict[str, bytes] = {}
        lines = [line.partition("#")[0] for line in text.splitlines()]
        for number, entry in enumerate(filter(None, map(str.strip, ",".join(lines).split(","))), 1):
            name, _, encoded = entry.partition(":")
            try:
                secret = base64.b64decode(encoded.strip(), validate=True)
            except ValueError:
                secret = b""
            if not _KEY_NAME.fullmatch(name) or len(secret) < LEAST_BYTES or name in found:
                raise InputError(
                    f"{source}: key {number} is not usable, expected name:base64 with a name of "
                    f"its own and at least {LEAST_BYTES} bytes; `elasticrec token --new-key`"
                )
            found[name] = secret
        return cls(found)

    def sign(self, model: str, user: str, seconds: float, *, now: float | None = None) -> str:
        """A token for one user of one model, valid for so many seconds."""
        if not self.secrets:
            raise InputError(
                f"no key to sign with: name a file by --keys, or set {VARIABLE}; "
                "`elasticrec token --new-key` makes one"
            )
        if not 1 <= seconds <= 10**9:
            raise InputError(f"a token for {seconds} seconds, expected 1 to 10^9")
        until = int((time.time() if now is None else now) + seconds)
        payload = _encode(json.dumps([model, user, until], separators=(",", ":")).encode())
        name = next(iter(self.secrets))
        head = f"{VERSION}.{name}.{payload}"
        token = f"{head}.{_encode(_signature(self.secrets[name], head))}"
        if len(token) > LONGEST:
            raise InputError(f"a token of {len(token)} characters, expected at most {LONGEST}")
        return token

    def user(self, token: str, model: str, *, now: float | None = None) -> str:
        """The user whose vector of this model a token opens; a TokenError where it opens none."""
        found, user, until = self._payload(token)
        if until <= (time.time() if now is None else now):
            raise TokenError("expired")
        if not hmac.compare_digest(found.encode(), model.encode()):
            raise TokenError("other-model")
        return user

    def _payload(self, token: str) -> tuple[str, str, int]:
        """Model, user and date of a token whose signature is right."""
        parts = token.split(".")
        if len(token) > LONGEST or len(parts) != 4 or parts[0] != VERSION:
            raise TokenError("malformed")
        # An unknown key is compared with too, so that time does not tell which names exist.
        secret = self.secrets.get(parts[1])
        expected = _signature(secret or secrets.token_bytes(LEAST_BYTES), token.rpartition(".")[0])
        if not hmac.compare_digest(_decode(parts[3]), expected) or secret is None:
            raise TokenError("unsigned")
        try:
            match json.loads(_decode(parts[2])):
                case [str(model), str(user), int(until)]:
                    (model + user).encode()  # JSON can spell halves of characters
                    return model, user, until
        except (ValueError, RecursionError):
            pass
        raise TokenError("malformed")


def new_key() -> str:
    """A line for a file of keys: a name with the date of today, and 32 random bytes."""
    name = time.strftime("k%Y%m%d", time.gmtime()) + "-" + secrets.token_hex(2)
    return f"{name}:{base64.b64encode(secrets.token_bytes(LEAST_BYTES)).decode()}"


def parse_seconds(text: str) -> int:
    """The seconds that `90s`, `15m`, `12h` or `30d` spell."""
    match = re.fullmatch(r"([0-9]{1,9})([smhd])", text.strip())
    if match is None:
        raise InputError(
            f"{text!r} is not a time, expected a number with its unit: 90s, 15m, 12h, 30d"
        )
    return int(match[1]) * {"s": 1, "m": 60, "h": 3_600, "d": 86_400}[match[2]]


def bearer(header: str | None) -> str:
    """The token of an Authorization header."""
    if header is None:
        raise TokenError("missing")
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer" or not token.isascii():
        raise TokenError("malformed")
    return token.strip()


def _signature(secret: bytes, text: str) -> bytes:
    return hmac.new(secret, text.encode(), hashlib.sha256).digest()


def _encode(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    """The bytes that `_encode` spelled; none for another spelling, so that a token has only one."""
    try:
        content = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        return b""
    return content if _encode(content) == text else b""
