"""The C runtime as the tests of this folder reach it."""

import shutil

import pytest

from tests.device import c_runtime


@pytest.fixture(scope="session")
def c_driver(tmp_path_factory):
    """The driver of the C runtime, built by the machine's compiler."""
    compiler = shutil.which("gcc") or shutil.which("clang") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler on this machine: the C runtime was not tested")
    return c_runtime.build([compiler], tmp_path_factory.mktemp("c") / "driver")


@pytest.fixture(scope="module", params=[1, 0], ids=["simd", "plain"])
def c_device(request, c_driver):
    """The C runtime with SIMD, where the machine has it, and without."""
    device = c_runtime.Device([c_driver], request.param)
    yield device
    device.close()
