"""Ed25519 keys, and signatures of streams, which devices verify; needs the extra `sign`."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from elasticrec.errors import InputError
from elasticrec.files import writing
from elasticrec.stream.format import Head

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


def new_key(path: Path | str) -> Path:
    """Write a new private key to `path` and its public key to `path`.pub; the latter's path.

    The private key is PEM (PKCS #8) that only its owner may read; the public one is 64 hex digits.
    """
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    path = Path(path)
    public = path.with_name(path.name + ".pub")
    for file in (path, public):
        if file.exists():
            raise InputError(f"{file}: is there already, expected the name of a new file")
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with writing(path):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as private:
            private.write(pem)
        public.write_text(public_bytes(key).hex() + "\n", encoding="ascii")
    return public


def load_key(path: Path | str) -> Ed25519PrivateKey:
    """The private key in a file that `new_key` or openssl wrote."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(Path(path).read_bytes(), password=None)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, TypeError):
        raise InputError(f"{path}: is no unencrypted PEM file, expected a private key") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError(f"{path}: holds a key of another kind, expected Ed25519")
    return key


def public_bytes(key: Ed25519PrivateKey) -> bytes:
    """The 32 bytes of a key's public half."""
    return key.public_key().public_bytes_raw()


def sign_head(head: Head, key: Ed25519PrivateKey) -> Head:
    """The head with its signature (section 12)."""
    return replace(head, signature=key.sign(head.signed_part()))
