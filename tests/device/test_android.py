"""The Java class over JNI, on the machine's JDK: golden and hostile files."""

import subprocess

import pytest

from tests.device import c_runtime, c_targets, java_runtime, test_c
from tests.device import test_python_hostile as hostile


@pytest.fixture(scope="module", name="device")
def java_device(tmp_path_factory):
    """The class, asked through its driver."""
    if not java_runtime.can_run():
        pytest.skip("no JDK or no C compiler here: the Java class was not tested")
    device = java_runtime.device(tmp_path_factory.mktemp("java"), "-Xcheck:jni")
    yield device
    device.close()


@pytest.mark.parametrize("name", test_c.STREAMS)
def test_answers_as_expected(device, name):
    test_c.test_answers_as_expected(device, name)
    test_c.test_a_growing_stream_answers_as_expected(device, name)


def test_refuses_what_the_c_runtime_refuses_with_and_without_a_key(device):
    test_c.test_refuses_every_hostile_file(device)
    test_c.test_takes_the_sound_files_and_refuses_another_key_or_an_older_stream(device)
    test_c.test_a_signed_stream_does_not_grow_by_another_one(device)


def test_refuses_what_is_no_key(device):
    with pytest.raises(c_runtime.StreamError, match="key: found 31 bytes, expected 32"):
        device.ask(f"open {hostile.SOUND.read_bytes().hex()} {hostile.KEY[2:]} 0 0 1")


INTERFACE = """
Answer(List<Item>, int)
Answer.items(): List<Item>
Answer.unknown(): int
ElasticStream.close(): void
ElasticStream.info(): long[]
ElasticStream.open(ByteBuffer): ElasticStream
ElasticStream.open(ByteBuffer, int, long, byte[]?): ElasticStream
ElasticStream.recommend(Question): Answer
ElasticStream.refresh(ByteBuffer): int
ElasticStream.withdraw(byte[]): void
Item(Object, long, Object?)
Item.id(): Object
Item.score(): long
Item.why(): Object?
Question(List<?>?, byte[]?, int, List<?>?, List<?>?, boolean, boolean, double)
Question(List<?>?, int)
Question.diversity(): double
Question.exclude(): List<?>?
Question.history(): List<?>?
Question.k(): int
Question.only(): List<?>?
Question.repeat(): boolean
Question.vector(): byte[]?
Question.why(): boolean
"""


def test_kotlin_is_told_of_every_type_whether_it_may_be_null(tmp_path):
    """Kotlin reads JSpecify's annotations, under which a type without a mark is never null."""
    if not java_runtime.can_run():
        pytest.skip("no JDK or no C compiler here: the Java class was not tested")
    java_runtime.compiled(tmp_path, java_runtime.STUBS / "Nulls.java")
    assert not (tmp_path / "org" / "jspecify").exists()  # they are not shipped
    names = sorted((java_runtime.STUBS / "org" / "jspecify" / "annotations").glob("*.java"))
    subprocess.run(["javac", "-d", tmp_path, *names], check=True)
    words = ["java", f"-Djava.library.path={tmp_path}", "-cp", str(tmp_path), "Nulls"]
    ran = subprocess.run(words, capture_output=True, text=True, check=True)
    assert ran.stdout == INTERFACE.lstrip()


@pytest.mark.slow
@pytest.mark.skipif(not c_targets.has_zig(), reason="needs zig: pip install ziglang")
def test_the_shim_compiles_for_arm64(tmp_path):
    jdk = java_runtime.headers()
    if jdk is None:
        pytest.skip("no JDK here")
    words = [*c_targets.ZIG, "-target", "aarch64-linux-musl", *c_runtime.STRICT, "-O2", "-fPIC"]
    words += [
        *jdk,
        f"-I{c_runtime.FOLDER}",
        "-c",
        str(java_runtime.SHIM),
        "-o",
        str(tmp_path / "shim.o"),
    ]
    c_targets.run(words)
