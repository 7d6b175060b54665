"""The stream of the worked example at the end of docs/stream-format.md."""

import numpy as np

from elasticrec.data.ids import Ids
from elasticrec.stream.chunk import stored_ids
from elasticrec.stream.writer import Facts, stream_parts
from tests.stream.making import MadeCodes, MadeNeighbours, MadeOrder


def example():
    """Three items of one block: two with a column, one with a neighbour."""
    words = np.zeros((32, 8), np.int8)
    words[0] = [-3, -3, -3, -3, 3, 3, 3, 3]
    words[1] = words[18] = [1, 1, 1, 1, -1, -1, -1, -1]
    popularity = np.full(28, 128, np.uint8)
    popularity[2] = 96
    codes = MadeCodes(
        codebooks=(words,),
        columns=np.array([[0, 0, 2]]),
        data=np.array([[0x21, 0x20, 0]], np.uint8),
        empty=np.array([1, 0, 0, 0, 0, 0, 0, -1], np.int8),
        unit=12.0,
        recency=0.5,
        gains=np.array([24_576], np.uint16),
        popularity=popularity,
    )
    numbers, votes = np.array([[0], [0], [1]], np.uint32), np.array([[0], [0], [3]], np.uint8)
    neighbours = MadeNeighbours(numbers, votes, np.arange(16, dtype=np.uint16) * 8)
    weights = np.array([[0.0625, 0.125], [0.25, 0.5]], np.float32)
    order = MadeOrder.of([(0, 0, 0, 2), (1, 0, 2, 1)])
    facts = Facts(bytes(range(32)).hex(), 1, trained=1_767_225_600, sequence=1, support=5)
    ids = stored_ids(Ids.of([501, 502, 503]), "u32")
    return b"".join(stream_parts(codes, neighbours, weights, order, facts=facts, ids=ids))
