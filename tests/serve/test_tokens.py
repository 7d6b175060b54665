import base64
import hashlib
import hmac
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.errors import InputError
from elasticrec.serve.tokens import VARIABLE, Keys, TokenError, bearer, new_key, parse_seconds

NOW = 1_800_000_000.0
KEYS = Keys({"k2": b"2" * 32, "k1": b"1" * 32})


def refused(token, model="books", now=NOW, keys=KEYS):
    with pytest.raises(TokenError) as caught:
        keys.user(token, model, now=now)
    return caught.value


@given(model=st.text(min_size=1, max_size=40), user=st.text(min_size=1, max_size=200))
@settings(deadline=None, max_examples=100)
def test_a_token_opens_what_it_was_made_for(model, user):
    try:
        (model + user).encode()
    except UnicodeEncodeError:
        return
    token = KEYS.sign(model, user, 60, now=NOW)
    assert KEYS.user(token, model, now=NOW + 59) == user


def test_it_opens_nothing_else():
    token = KEYS.sign("books", "u1", 60, now=NOW)
    assert refused(token, model="films").reason == "other-model"
    assert refused(token, now=NOW + 60).reason == "expired"


def test_every_single_change_is_noticed():
    token = KEYS.sign("books", "u1", 60, now=NOW)
    for at, old in enumerate(token):
        for new in "A.":
            if new != old:
                changed = token[:at] + new + token[at + 1 :]
                assert refused(changed).reason in ("unsigned", "malformed")


def test_a_token_has_only_one_spelling():
    token = KEYS.sign("books", "u1", 60, now=NOW)
    head, _, signature = token.rpartition(".")
    raw = base64.urlsafe_b64decode(signature + "=")
    for other in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_":
        spelled = signature[:-1] + other
        if spelled != signature and base64.urlsafe_b64decode(spelled + "=") == raw:
            assert refused(f"{head}.{spelled}").reason == "unsigned"
    assert refused(token + "=").reason == "unsigned"


def test_a_payload_without_its_key_is_refused_before_it_is_read():
    payload = base64.urlsafe_b64encode(json.dumps(["books", "u1", 2**40]).encode()).decode()
    for token in (
        f"e1.k2.{payload.rstrip('=')}.",
        f"e1..{payload}.AAAA",
        f"e1.none.{payload.rstrip('=')}.AAAA",
        "e1.k2.!!!.AAAA",
    ):
        assert refused(token).reason == "unsigned"
    for token in ("", "x", "e2.k2.a.b", "a.b.c.d.e", "e1.k2.a." + "b" * 5_000):
        assert refused(token).reason == "malformed"


ODD = ["5", "null", "[]", '["books", "u1"]', '["books", 1, 2]', '["books", "u1", "x"]', "[1e999]",
       '["books", "u1", 9e99]', '["books", "\\ud800", 9999999999]', "[" * 3_000, "9" * 5_000,
       '{"books": 1}', "\xff"]  # fmt: skip


@pytest.mark.parametrize("payload", ODD)
def test_a_signed_but_odd_payload_is_malformed(payload):
    encoded = base64.urlsafe_b64encode(payload.encode("latin-1")).rstrip(b"=").decode()
    head = f"e1.k2.{encoded}"
    signature = hmac.new(b"2" * 32, head.encode(), hashlib.sha256).digest()
    spelled = base64.urlsafe_b64encode(signature).rstrip(b"=").decode()
    assert refused(f"{head}.{spelled}").reason == "malformed"


def test_keys_rotate():
    old, new = Keys({"k1": b"1" * 32}), KEYS
    token = old.sign("books", "u1", 60, now=NOW)
    assert new.user(token, "books", now=NOW) == "u1"
    assert new.sign("books", "u1", 60, now=NOW).startswith("e1.k2.")
    without = Keys({"k2": b"2" * 32})
    assert refused(token, keys=without).reason == "unsigned"
    assert refused(token, keys=Keys({})).reason == "unsigned"
    same_name = Keys({"k1": b"x" * 32})
    assert refused(token, keys=same_name).reason == "unsigned"


def test_keys_come_from_a_file_or_the_environment(tmp_path, monkeypatch):
    lines = [new_key() for _ in range(2)]
    path = tmp_path / "keys.txt"
    path.write_text(f"# the newest first\n{lines[0]}\n\n{lines[1]}  # leaves in May\n")
    keys = Keys.load(path)
    assert list(keys.secrets) == [line.partition(":")[0] for line in lines]
    monkeypatch.setenv(VARIABLE, ",".join(lines))
    assert Keys.load() == keys
    monkeypatch.delenv(VARIABLE)
    assert Keys.load().secrets == {}
    secret = lines[0].partition(":")[2]
    assert secret not in repr(keys)
    assert base64.b64decode(secret).hex() not in repr(keys)


@pytest.mark.parametrize("text", ["k", "k:", "k:AAAA", "k:!!!", "a b:" + "A" * 44])
def test_unusable_keys_are_refused_without_being_shown(text):
    with pytest.raises(InputError, match="key 1 is not usable") as caught:
        Keys.parse(text, "the file")
    assert "AAAA" not in str(caught.value)


def test_a_key_given_twice_is_refused():
    line = new_key()
    with pytest.raises(InputError, match="key 2"):
        Keys.parse(f"{line},{line}", "x")


def test_signing_refuses_what_it_cannot_sign():
    with pytest.raises(InputError, match="no key to sign with"):
        Keys({}).sign("books", "u1", 60)
    with pytest.raises(InputError, match="a token for 0 seconds"):
        KEYS.sign("books", "u", 0)
    with pytest.raises(InputError, match="expected at most 2048"):
        KEYS.sign("books", "é" * 300, 60)


def test_bearer_headers():
    assert bearer("Bearer abc") == "abc"
    assert bearer("bearer  abc ") == "abc"
    for header, reason in (
        (None, "missing"),
        ("Basic abc", "malformed"),
        ("Bearer é", "malformed"),
    ):
        with pytest.raises(TokenError, match=reason):
            bearer(header)


def test_times():
    assert [parse_seconds(text) for text in ("90s", "15m", "12h", "30d")] == [
        90,
        900,
        43_200,
        2_592_000,
    ]
    with pytest.raises(InputError, match="expected a number with its unit"):
        parse_seconds("1 week")
