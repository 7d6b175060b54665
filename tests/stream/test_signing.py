import stat
from dataclasses import replace

import pytest

from elasticrec.errors import InputError
from elasticrec.stream.format import Head, StreamError
from elasticrec.stream.signing import load_key, new_key, public_bytes, verify
from tests.stream.damage import draft, sound
from tests.stream.golden import KEY


def test_a_new_key_is_private_and_its_public_half_is_beside_it(tmp_path):
    public = new_key(tmp_path / "key")
    assert public == tmp_path / "key.pub"
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    assert public.read_text() == public_bytes(load_key(tmp_path / "key")).hex() + "\n"
    with pytest.raises(InputError, match="is there already"):
        new_key(tmp_path / "key")


def verified(head, public):
    verify(head.signed_part(), head.signature, public, "the stream's head")


def test_a_head_is_verified():
    verified(Head.unpack(sound()), public_bytes(KEY))
    unsigned = draft()
    unsigned.key = None
    with pytest.raises(StreamError, match="is not signed"):
        verified(Head.unpack(unsigned.file()), public_bytes(KEY))
    with pytest.raises(StreamError, match="not of the given key"):
        verified(replace(Head.unpack(sound()), sequence=8), public_bytes(KEY))


def test_files_that_are_no_keys_are_refused(tmp_path):
    (tmp_path / "text").write_text("no key\n")
    with pytest.raises(InputError, match="no unencrypted PEM"):
        load_key(tmp_path / "text")
    with pytest.raises(InputError, match="cannot be read"):
        load_key(tmp_path / "none")
