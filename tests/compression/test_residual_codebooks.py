import numpy as np

from elasticrec.compression.additive import pair_sums
from elasticrec.compression.config import CompressionConfig
from elasticrec.compression.residual_codebooks import residual_columns


def test_what_columns_say_and_what_is_left_over_are_the_vectors() -> None:
    vectors = np.random.default_rng(0).normal(size=(300, 16)).astype(np.float32)
    rest, said = vectors.copy(), np.zeros_like(vectors)
    config = CompressionConfig(rounds=2)
    energy = [float(np.square(rest).sum())]
    for seed in range(3):
        (column,) = residual_columns(rest, 1, config, np.random.default_rng(seed))
        said += pair_sums(column.codewords.astype(np.float32))[column.bytes] * column.scale
        np.testing.assert_allclose(said + rest, vectors, atol=1e-4)
        energy.append(float(np.square(rest).sum()))
    assert energy == sorted(energy, reverse=True)


def test_few_different_vectors_leave_nothing_over() -> None:
    corners = 3 * np.eye(16, dtype=np.float32)
    rest = corners[np.arange(320) % 16].copy()
    (column,) = residual_columns(rest, 1, CompressionConfig(), np.random.default_rng(0))
    assert len(set(column.bytes.tolist())) == 16
    assert np.abs(rest).max() < 0.02
