"""Devices with two keys, as the page of deployment shows them."""

import base64
import contextlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import elasticrec_device
from tests.device.python_making import random_stream

ROOT = Path(__file__).resolve().parents[2]
OLD, NEW, STRANGER = (Ed25519PrivateKey.from_private_bytes(bytes([n]) * 32) for n in range(3))
KEYS = [key.public_key().public_bytes_raw() for key in (NEW, OLD)]
STREAMS = {
    "old": random_stream(3, key=OLD).data,
    "new": random_stream(3, key=NEW).data,
    "stranger": random_stream(3, key=STRANGER).data,
    "unsigned": random_stream(3).data,
}


def shown(language):
    """The example of the page that tries several keys."""
    page = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    (found,) = re.findall(rf"```{language}\n((?:async )?(?:def|function) .*?)```", page, re.DOTALL)
    return found


def mixed():
    """The old key's head before the new one's chunks: signed, but not one stream."""
    size = 276 + 8 * int.from_bytes(STREAMS["old"][10:12], "little")
    other = random_stream(4, key=NEW).data
    start = 276 + 8 * int.from_bytes(other[10:12], "little")
    return STREAMS["old"][:size] + other[start:]


def test_python_takes_streams_of_both_keys_and_no_others(tmp_path):
    names = {"contextlib": contextlib, "elasticrec_device": elasticrec_device}
    exec(shown("python"), names)
    for name, data in STREAMS.items():
        path = tmp_path / name
        path.write_bytes(data)
        if name in ("old", "new"):
            assert names["open_signed"](path, KEYS).recommend()
            with pytest.raises(elasticrec_device.StreamError, match="signature"):
                names["open_signed"](path, [KEYS[name == "new"]])
        else:
            with pytest.raises(elasticrec_device.StreamError, match="signature"):
                names["open_signed"](path, KEYS)
    with pytest.raises(elasticrec_device.StreamError, match="link to chunk"):
        elasticrec_device.open(mixed(), KEYS[1])


def test_javascript_takes_streams_of_both_keys_and_no_others(tmp_path):
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node on this machine: keys in JavaScript were not tried")
    runtime = (ROOT / "device" / "js" / "elasticrec-device.js").as_uri()
    lines = [f"import {{ fetchStream, StreamError }} from '{runtime}';", shown("js")]
    keys = ", ".join(f"Uint8Array.from([{', '.join(map(str, key))}])" for key in KEYS)
    lines.append(f"const keys = [{keys}];")
    for name, data in {**STREAMS, "mixed": mixed()}.items():
        url = "data:application/octet-stream;base64," + base64.b64encode(data).decode()
        lines.append(
            f"await fetchSigned('{url}', keys).then(({{ stream }}) => console.log('{name}', "
            "stream.info().signed), (error) => console.log(error.name));"
        )
    script = tmp_path / "keys.mjs"
    script.write_text("\n".join(lines))
    ran = subprocess.run([node, script], capture_output=True, text=True, check=False)
    said = ran.stdout.splitlines()
    assert said == ["old true", "new true", *["StreamError"] * 3], ran.stderr
