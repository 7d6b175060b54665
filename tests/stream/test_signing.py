import stat
from dataclasses import replace

import pytest

from elasticrec.errors import InputError
from elasticrec.stream.format import Head
from elasticrec.stream.side_files import load_key, new_key, public_bytes
from tests.stream.damage import sound
from tests.stream.golden import KEY
from tests.stream.reference_file import RefusedError, StreamFile


def test_a_new_key_is_private_and_its_public_half_is_beside_it(tmp_path):
    public = new_key(tmp_path / "key")
    assert public == tmp_path / "key.pub"
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    assert public.read_text() == public_bytes(load_key(tmp_path / "key")).hex() + "\n"
    with pytest.raises(InputError, match="is there already"):
        new_key(tmp_path / "key")


def test_a_signature_covers_the_head():
    head = Head.unpack(sound())
    assert replace(head, signature=bytes(64)).signed(KEY) == head
    StreamFile(head.signed(KEY).pack() + sound()[len(head.pack()) :], public_bytes(KEY))
    changed = replace(head, sequence=8).pack() + sound()[len(head.pack()) :]
    with pytest.raises(RefusedError, match="wrong signature"):
        StreamFile(changed, public_bytes(KEY))


def test_files_that_are_no_keys_are_refused(tmp_path):
    (tmp_path / "text").write_text("no key\n")
    with pytest.raises(InputError, match="no unencrypted PEM"):
        load_key(tmp_path / "text")
    with pytest.raises(InputError, match="cannot be read"):
        load_key(tmp_path / "none")
