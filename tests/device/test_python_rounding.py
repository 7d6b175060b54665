"""Formulas of sections 6 and 7 at numbers where another order of operations rounds otherwise."""

import math

import numpy as np
import pytest

import elasticrec_device
from tests.device.python_making import (
    CODEBOOK,
    CODES,
    COLUMNS,
    NEIGHBOURS,
    Chunk,
    Head,
    columns_payload,
    seal,
    slot_payload,
    vector_file,
)

rounded = np.vectorize(lambda x: math.floor(x + 0.5))


def stream_of(codewords, codes, head, weight=0.0, slot=b"", gain=32_768):
    """A stream of one column whose low codewords are given; the high ones are 0."""
    words = np.zeros((32, 8), dtype=np.int8)
    words[: len(codewords)] = codewords
    chunks = [
        Chunk(CODEBOOK, 0, 0, 32, words.tobytes(), 1),
        Chunk(COLUMNS, 0, 0, 1, columns_payload([(0, 0, 1, gain, weight, weight)])),
        Chunk(CODES, 0, 0, len(codes), bytes(codes)),
    ]
    chunks += [Chunk(NEIGHBOURS, 0, 0, len(codes), slot)] if slot else []
    head.N, head.V, head.cosine = 1, len(codes), head.cosine
    return elasticrec_device.open(seal(head, chunks))


def scores(stream, history=(), vector=None):
    found = stream.recommend(history, vector=vector, k=100, repeat=True)
    return [item.score for item in sorted(found)]


def test_a_persons_numbers_are_divided_first():
    p, m = np.meshgrid(np.arange(1.0, 2048), 302.0 * np.arange(1, 7))  # 32767 is 151 · 217
    odd = (p < m) & (rounded((p / m) * 32767) != rounded(p * (32767 / m)))
    largest = m[odd][0]
    numbers, m = np.resize(p[odd & (m == largest)], 7), largest
    head = Head(cosine=0, popularity=(1,) * 28)
    stream = stream_of(np.eye(8), range(8), head)
    vector = vector_file([*numbers, m])
    assert scores(stream, vector=vector) == [*rounded((numbers / m) * 32767).tolist(), 32767]


def test_a_tables_products_come_first():
    A, M = np.meshgrid(np.arange(1.0, 128), np.arange(1.0, 128))
    differ = (A < M) & (rounded((A * 32767) / M) != rounded(A * (32767 / M)))
    m = M[differ][0]
    some = A[differ & (m == M)].tolist()
    words = np.zeros((len(some) + 1, 8))
    words[:, 1] = [*some, m]
    stream = stream_of(words, range(len(words)), Head(cosine=0, popularity=(1,) * 28))
    vector = vector_file([1, 1 / 32768, 0, 0, 0, 0, 0, 0])  # q is 32767, 1, 0, ...
    expected = [math.floor((a * 32767) / m + 0.5) for a in some]
    assert scores(stream, vector=vector) == [*expected, 32767]


@pytest.mark.parametrize("gain", [32_768, 30_720])
def test_a_gains_product_comes_first(gain):
    unit, P, length = np.meshgrid(np.arange(0.5, 40), np.arange(1.0, 256), np.arange(1.0, 128))
    G = gain / 32_768
    right = rounded((unit * P * G) / length)
    differ = right != rounded(unit * (P * G / length))
    differ &= (G == 1) | (right != rounded(unit * P / length * G))
    at = np.flatnonzero(differ & (right < 255))[0]
    unit, p, length = (float(each.flat[at]) for each in (unit, P, length))
    some = [length, 127.0]
    words = np.zeros((len(some), 8))
    words[:, 0] = some
    head = Head(unit=unit, popularity=(int(p),) * 28)
    stream = stream_of(words, range(len(words)), head, gain=gain)
    vector = vector_file([1, 0, 0, 0, 0, 0, 0, 0])
    M = max(some)
    expected = [
        math.floor((x * 32767 * 32767) / (M * 32767) + 0.5) * math.floor((unit * p * G) / x + 0.5)
        for x in some
    ]
    assert scores(stream, vector=vector) == expected


def test_a_votes_worth_is_the_pages_to_the_last_digit():
    rng = np.random.default_rng(0)
    weight, unit = (rng.random(2 * 10**6) * 0.04).astype(np.float32).astype(float), 2000.0
    value, rho = 39_999, (32767.0 * (32767 / (7 * 32767.0))) * (unit * 128)
    small = weight / math.sqrt(3)
    right, wrong = (small * rho) * value, small * (rho * value)
    odd = np.flatnonzero((right < 2**40) & (np.floor(right + 0.5) != np.floor(wrong + 0.5)))
    assert len(odd)
    for i in odd[:5].tolist():
        head = Head(cosine=0, unit=unit, values=(0, *[value] * 15), popularity=(0,) * 28)
        slot = slot_payload([0, 0, 1, 0], [7, 0, 3, 7], 4)
        stream = stream_of([[7, *[0] * 7]], [0, 0, 0, 0], head, weight[i], slot)
        worth = math.floor(right[i] + 0.5)
        vector = vector_file([1, 0, 0, 0, 0, 0, 0, 0])
        assert scores(stream, [0, 1, 2], vector) == [worth, 0, worth, worth]


def test_a_votes_worth_has_a_limit():
    head = Head(cosine=0, values=(0, *[65535] * 15), popularity=(0,) * 28, unit=1e9)
    slot = slot_payload([0, 0], [15, 15], 2)
    stream = stream_of([[7, *[0] * 7]], [0, 0], head, 1e9, slot)
    assert scores(stream, [0]) == [2**40, 2**40]
