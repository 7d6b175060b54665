import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.compression.codebooks import HALF, Column, fit_codewords, pair_sums, quantized
from elasticrec.compression.codes import (
    LARGEST_UNIT,
    SCALES,
    Codes,
    assemble,
    popularity_class,
    with_gains,
    with_unit,
)
from elasticrec.compression.compress import compress
from elasticrec.compression.config import CompressionConfig
from elasticrec.errors import InputError


def test_a_byte_names_a_codeword_of_each_half() -> None:
    codewords = np.arange(32)[:, None] * np.array([[1, 100]])
    sums = pair_sums(codewords)
    assert sums[0x00].tolist() == [0 + 16, 1600]
    assert sums[0x53].tolist() == [3 + 21, 2400]


def test_codewords_find_sums_of_two_hidden_halves() -> None:
    rng = np.random.default_rng(3)
    hidden = 5 * rng.normal(size=(32, 6)).astype(np.float32)
    points = pair_sums(hidden)[rng.integers(256, size=4000)]
    found = fit_codewords(points, CompressionConfig(rounds=30), rng)
    near = ((points[:, None] - pair_sums(found)[None]) ** 2).sum(axis=2).min(axis=1)
    assert near.mean() < 0.1 * points.var(axis=0).sum()


def test_quantized_codewords_are_near_and_small() -> None:
    codewords = np.random.default_rng(0).normal(size=(32, 8)).astype(np.float32)
    whole, scale = quantized(codewords)
    assert whole.dtype == np.int8
    assert abs(whole).max() == 127
    assert np.abs(whole * scale - codewords).max() <= scale / 2 + 1e-6


def reference_decode(codes: Codes, item: int, count: int) -> list[int]:
    """The y of section 3 of the stream's page, number by number."""
    y = [0] * codes.dimensions
    for c in range(count):
        book, block, scale = codes.columns[c].tolist()
        codewords, byte = codes.codebooks[book], int(codes.data[c, item])
        for k in range(codewords.shape[1]):
            both = int(codewords[byte % HALF, k]) + int(codewords[HALF + byte // HALF, k])
            y[8 * block + k] += scale * both
    return y


@settings(max_examples=25)
@given(data=st.data())
def test_decoding_agrees_with_the_page(codes: Codes, data: st.DataObject) -> None:
    some = data.draw(st.lists(st.integers(0, codes.n_items - 1), min_size=1, max_size=6))
    counts = [data.draw(st.integers(0, codes.n_columns)) for _ in some]
    found = codes.decode(np.array(some), np.array(counts))
    for row, item, count in zip(found.tolist(), some, counts, strict=True):
        assert row == reference_decode(codes, item, count)


def test_more_columns_come_nearer(codes: Codes, items: np.ndarray) -> None:
    cosines = [mean_cosine(codes, items, count) for count in range(1, codes.n_columns + 1)]
    assert cosines[0] > 0.5
    assert cosines[-1] > 0.99
    np.testing.assert_allclose(codes.cosines, [0, *np.maximum.accumulate(cosines)], atol=2e-5)


def mean_cosine(codes: Codes, items: np.ndarray, count: int) -> float:
    """The mean cosine of items (V, D) of length 1 and what so many columns decode."""
    y = codes.decode(slice(None), np.full(len(items), count)).astype(float)
    lengths = np.maximum(np.linalg.norm(y, axis=1), 1e-9)
    return float(((y * (items @ codes.rotation)).sum(axis=1) / lengths).mean())


def test_scales_of_a_block_stay_within_the_pages_sum(codes: Codes) -> None:
    covered = np.zeros(codes.n_blocks, dtype=int)
    for c, (_, block, scale) in enumerate(codes.columns.tolist()):
        covered[block : block + codes.width(c) // 8] += scale
    assert covered.max() <= SCALES
    assert covered.max() > 0.9 * SCALES


def test_columns_of_a_stage_share_their_codebook(codes: Codes) -> None:
    n = codes.n_columns - 3 * codes.n_blocks
    books = codes.columns[n:, 0].reshape(3, codes.n_blocks)
    assert (books == books[:, :1]).all()
    assert len(codes.codebooks) == n + 3


def test_factors_undo_lengths(codes: Codes) -> None:
    every = np.arange(codes.n_items)
    counts = np.full(codes.n_items, codes.n_columns)
    y = codes.decode(slice(None), counts).astype(float)
    lengths = np.sqrt((y**2).sum(axis=1))
    g = codes.factors(lengths, every, counts)
    assert g.min() >= 1
    assert g.max() <= 255
    assert np.std(lengths * g) / np.mean(lengths * g) < 0.01


def test_the_less_columns_tell_the_less_scores_count(codes: Codes) -> None:
    """Of equal lengths a factor is as large as the mean cosine of its columns."""
    counts = np.arange(codes.n_columns + 1)
    lengths = np.full(len(counts), codes.unit)
    g = codes.factors(lengths, np.zeros(len(counts), dtype=int), counts)
    assert g.tolist() == np.floor(128 * codes.cosines + 0.5).astype(int).tolist()
    assert g[0] == 0
    assert g[1] < g[2] < g[-1]


def test_factors_of_the_smallest_prefix_just_fit_a_byte(codes: Codes) -> None:
    counts = np.full(codes.n_items, 2)
    lengths = np.linalg.norm(codes.decode(slice(None), counts).astype(float), axis=1)
    set_so = with_unit(codes, 2, n_items=codes.n_items, quantile=0.1)
    g = set_so.factors(lengths, np.arange(codes.n_items), counts)
    assert np.mean(g > 250) == pytest.approx(0.1, abs=0.03)


def test_gains_never_fall_and_are_at_least_the_smallest(codes: Codes, items: np.ndarray) -> None:
    opposite = with_gains(codes, -items @ codes.rotation, n_items=100)
    assert set(opposite.gains.tolist()) == {1}
    found = with_unit(opposite, 2, n_items=100, quantile=0.01).unit
    assert found == np.float32(LARGEST_UNIT)
    assert (np.diff(codes.gains.astype(int)) >= 0).all()
    assert codes.gains.max() <= 32_768


def test_factors_of_dot_scores_are_popularity_alone(items: np.ndarray) -> None:
    codes = compress(items * 3, CompressionConfig(stages=0), cosine=False)
    found = codes.factors(np.array([0.0, 5.0]), np.array([0, 9]), np.array([0, 1]))
    assert found.tolist() == [128, 128]
    assert 0.5 < codes.cosines[1] < 1  # which votes are weighed by


def test_popularity_lowers_rare_items(items: np.ndarray) -> None:
    popularity = np.arange(len(items))[::-1] + 1
    config = CompressionConfig(stages=0)
    codes = compress(items, config, popularity=popularity, exponent=0.1)
    factors = codes.popularity[popularity_class(np.arange(len(items)))]
    assert factors[0] == 128
    assert factors[-1] < 128
    assert (np.diff(factors.astype(int)) <= 0).all()


def test_popularity_classes_count_binary_digits() -> None:
    assert popularity_class(np.array([0, 1, 2, 3, 6, 7, 2**26 - 1])).tolist() == [
        *(1, 2, 2, 3, 3, 4, 27)
    ]


def test_equal_inputs_give_equal_codes(codes: Codes, items: np.ndarray, tmp_path) -> None:
    again = compress(items, CompressionConfig(stages=3, points=600))
    assert again.fingerprint() == codes.fingerprint()
    codes.save(tmp_path / "codes.npz")
    assert Codes.load(tmp_path / "codes.npz").fingerprint() == codes.fingerprint()


def test_a_rotation_changes_no_product(codes: Codes, items: np.ndarray) -> None:
    rotated = items @ codes.rotation
    np.testing.assert_allclose(rotated @ rotated.T, items @ items.T, atol=1e-5)


@pytest.mark.parametrize(
    ("n_items", "dimensions", "expected"), [(200, 128, 2), (16_384, 128, 5), (60_000, 128, 16)]
)
def test_small_catalogues_have_fewer_residual_codebooks(
    n_items: int, dimensions: int, expected: int
) -> None:
    assert CompressionConfig().residual_columns(n_items, dimensions) == expected


def test_wrong_shapes_are_refused() -> None:
    with pytest.raises(InputError, match="blocks of 8"):
        compress(np.zeros((3, 12), dtype=np.float32), CompressionConfig())
    with pytest.raises(InputError, match="at least one"):
        assemble([], n_blocks=1, rotation=np.eye(8), empty=np.zeros(8))


def test_an_item_of_zeros_is_coded_as_any(items: np.ndarray) -> None:
    some = items.copy()
    some[5] = 0
    codes = compress(some, CompressionConfig(stages=1))
    assert np.isfinite(codes.unit)
    assert codes.unit > 0


def test_a_column_without_codewords_of_size_keeps_its_scale() -> None:
    flat = Column(np.zeros((32, 8), np.int8), 0, 1.0, np.zeros(4, np.uint8))
    codes = assemble([flat], n_blocks=1, rotation=np.eye(8), empty=np.zeros(8))
    assert codes.decode(slice(None), np.ones(4, dtype=int)).tolist() == [[0] * 8] * 4
    assert codes.factors(np.zeros(4), np.arange(4), np.ones(4, int)).tolist() == [0] * 4
