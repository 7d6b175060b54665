"""A full disk, one that can only be read, and one that rots."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import elasticrec_device

ROOT = Path(__file__).resolve().parents[2]
ALONE = ["unshare", "--map-root-user", "--mount"]


@pytest.mark.parametrize("what", ["full", "read-only"])
def test_what_is_there_is_served_and_what_writes_is_refused(made_models, tmp_path, what):
    mount = [*ALONE, "mount", "-t", "tmpfs", "none", str(tmp_path)]
    if not shutil.which(ALONE[0]) or subprocess.run(mount, check=False).returncode:
        pytest.skip("this machine lets nobody mount a small disk")
    script = [sys.executable, "-m", "tests.serve.small_disk", made_models, tmp_path / "disk", what]
    ran = subprocess.run(
        [*ALONE, *map(str, script)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr[-3000:]


def test_a_file_that_rots_while_it_is_served_is_noticed_by_who_reads_it(start, models):
    client, path = start(models=(models,)), models / "books" / "stream.elastic"
    url, before = "/models/books/stream.elastic", path.stat()
    elasticrec_device.open(client.get(url).content)
    with path.open("r+b") as file:
        for at in range(before.st_size - 1, 0, -before.st_size // 7):
            file.seek(at)
            good = file.read(1)
            file.seek(at)
            file.write(bytes([good[0] ^ 4]))
            file.flush()
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # rot leaves the times
            with pytest.raises(elasticrec_device.StreamError, match="CRC-32 of"):
                elasticrec_device.open(client.get(url).content)
            file.seek(at)
            file.write(good)
            file.flush()
    elasticrec_device.open(client.get(url).content)
