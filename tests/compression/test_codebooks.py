import numpy as np

from elasticrec.compression.codebooks import pair_sums, residual_columns, subvector_columns
from elasticrec.compression.config import CompressionConfig


def test_whole_codewords_and_what_is_left_over_are_the_vectors() -> None:
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


def test_blocks_that_differ_in_size_alone_differ_in_scale_alone() -> None:
    block = np.random.default_rng(0).normal(size=(400, 8))
    rest = np.concatenate([block, 10 * block, 100 * block], axis=1).astype(np.float32)
    columns = subvector_columns(rest, CompressionConfig(), np.random.default_rng(1))
    assert [column.block for column in columns] == [0, 1, 2]
    np.testing.assert_allclose([c.scale / columns[0].scale for c in columns], [1, 10, 100], 1e-4)
    for column in columns[1:]:  # a tie may fall either way by rounding
        assert (column.bytes == columns[0].bytes).mean() > 0.99


def test_codes_of_blocks_and_what_is_left_over_are_the_vectors() -> None:
    vectors = np.random.default_rng(0).normal(size=(200, 16)).astype(np.float32)
    rest = vectors.copy()
    first, second = subvector_columns(rest, CompressionConfig(), np.random.default_rng(1))
    said = [pair_sums(c.codewords.astype(np.float32))[c.bytes] * c.scale for c in (first, second)]
    np.testing.assert_allclose(np.concatenate(said, axis=1) + rest, vectors, atol=1e-4)
    assert np.square(rest).sum() < 0.3 * np.square(vectors).sum()
