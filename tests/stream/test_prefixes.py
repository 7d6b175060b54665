"""Any budget's prefix: within the budget, close to it, and the same whoever asks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.errors import InputError
from elasticrec.files import save_bytes
from elasticrec.ordering.order import OrderConfig, make_order
from elasticrec.stream.chunk import CHUNK_HEADER, copy_prefix, index_of, read_index
from elasticrec.stream.cutting import largest_chunk
from elasticrec.stream.format import ID_KINDS
from elasticrec.stream.writer import Facts, stream_parts
from tests.stream.making import random_parts, random_stream


def whole(seed, ids):
    """The bytes of a random stream."""
    parts, order, facts, stored = random_stream(np.random.default_rng(seed), ids=ids)
    return b"".join(stream_parts(*parts, order, facts=facts, ids=stored))


@settings(max_examples=2000, deadline=None, derandomize=True, database=None)
@given(st.integers(0, 2**32), st.sampled_from(ID_KINDS), st.floats(0, 1.1))
def test_a_prefix_keeps_its_budget_and_its_climb(seed, ids, share):
    data = whole(seed, ids)
    index = index_of(data, len(data))
    least = index.head.least
    budget = least + int(share * (len(data) - least))
    end = index.longest_prefix(budget)
    assert least <= end <= budget
    longer = [each for each in index.ends if each > end]
    assert not longer or longer[0] > budget
    for start, stop in zip(index.ends, index.ends[1:], strict=False):
        if start >= least:
            assert stop - start <= max(largest_chunk(start), CHUNK_HEADER + 8 * 4)
    prefix = data[:end]
    assert index_of(prefix, end).ends == [each for each in index.ends if each <= end]
    assert index_of(prefix, end).longest_prefix(budget) == end


@pytest.mark.parametrize("seed", range(20))
def test_a_customized_file_is_a_byte_prefix(tmp_path, seed):
    parts, order, facts, stored = random_stream(np.random.default_rng(seed), ids="u32")
    source, out = tmp_path / "stream.elastic", tmp_path / "small.elastic"
    save_bytes(source, b"".join(stream_parts(*parts, order, facts=facts, ids=stored)))
    data = source.read_bytes()
    budget = (index_of(data, len(data)).head.least + len(data)) // 2
    assert copy_prefix(source, budget, out) == read_index(source).longest_prefix(budget)
    assert out.read_bytes() == data[: read_index(source).longest_prefix(budget)]
    again = tmp_path / "again.elastic"
    copy_prefix(out, budget, again)
    assert again.read_bytes() == out.read_bytes()


def test_a_budget_below_the_least_is_refused_by_name(tmp_path):
    parts, order, facts, _ = random_stream(np.random.default_rng(3))
    save_bytes(tmp_path / "s", b"".join(stream_parts(*parts, order, facts=facts)))
    least = index_of(data := (tmp_path / "s").read_bytes(), len(data)).head.least
    with pytest.raises(InputError, match=f"size of this stream is {least}"):
        copy_prefix(tmp_path / "s", least - 1, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def real_index(n_items, config):
    """The index of a stream of 16 residual columns, then 16 sub-vector stages, and 16 slots."""
    residual = [(16, (0,), 100)] * 16
    fine = [(1, tuple(range(16)), 20)] * 6
    rng = np.random.default_rng(n_items)
    parts = random_parts(rng, n_items, 16, residual + fine, 16)
    order = make_order(n_items, len(parts[0].columns), 16, config, least=2)
    data = b"".join(stream_parts(*parts, order, facts=Facts("ab" * 32, order.least)))
    return index_of(data, len(data))


def spent(index, budgets):
    """(n,) share of each budget that its prefix takes."""
    ends = np.array(index.ends)
    return ends[np.searchsorted(ends, budgets, side="right") - 1] / budgets


ORDERS = [OrderConfig(lead=0, columns_per_slot=4), OrderConfig(columns_per_slot=2)]


@pytest.mark.parametrize("config", ORDERS, ids=lambda config: config.name[:13])
@pytest.mark.parametrize("n_items", [5_000, 10_000, 20_000, 91_599])
def test_real_orders_spend_a_budget_and_little_on_headers(n_items, config):
    index = real_index(n_items, config)
    least = index.head.least
    budgets = np.unique(np.geomspace(least, index.head.length, 4000).astype(np.int64))
    assert spent(index, budgets).min() >= 0.95
    if n_items >= 20_000:
        assert spent(index, budgets[budgets >= 6 * n_items]).min() >= 0.98
    ends = np.array(index.ends)
    beside = 276 + 128 + CHUNK_HEADER * np.arange(1, len(ends) + 1)
    limit = 0.02 if n_items >= 10_000 else 0.03
    assert (beside / ends)[ends >= 11 * n_items].max() <= limit
