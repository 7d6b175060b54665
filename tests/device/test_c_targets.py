"""The C runtime on other machines: built without a warning, and asked the golden questions."""

import shutil

import pytest

from tests.device import c_runtime, c_targets, test_c
from tests.device import test_python_conformance as conformance
from tests.device.c_targets import TARGETS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not c_targets.has_zig(), reason="needs zig: pip install ziglang"),
]
FOREIGN = [target for target in TARGETS if target.runner]


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_it_builds_without_a_warning_and_stays_small(target, tmp_path):
    made = c_targets.build_object(target, tmp_path)
    if shutil.which("llvm-size"):
        assert 4000 < c_targets.code_bytes(made) < 40_000


@pytest.fixture(scope="module", params=FOREIGN, ids=lambda target: target.name)
def foreign(request, tmp_path_factory):
    """The C runtime on another machine, which qemu plays."""
    runner = shutil.which(request.param.runner)
    if runner is None:
        pytest.skip(f"no {request.param.runner} here: Debian's qemu-user has it")
    driver = c_targets.build_driver(request.param, tmp_path_factory.mktemp("foreign"))
    device = c_runtime.Device([runner, str(driver)])
    yield device
    device.close()


@pytest.mark.parametrize("name", conformance.STREAMS)
def test_a_foreign_machine_answers_as_expected(foreign, name):
    test_c.test_answers_as_expected(foreign, name)
    test_c.test_a_growing_stream_answers_as_expected(foreign, name)


def test_a_foreign_machine_refuses_every_hostile_file(foreign):
    test_c.test_refuses_every_hostile_file(foreign)
    test_c.test_takes_the_sound_files_and_refuses_another_key_or_an_older_stream(foreign)


def test_a_foreign_machine_answers_large_streams_and_rounds_roots(foreign):
    test_c.test_a_large_stream_answers_as_the_python_runtime_does(foreign)
    test_c.test_roots_are_rounded_as_ieee_754_says(foreign)
