"""2,000 random shapes and budgets: no file exceeds its budget, and every length was foretold."""

import numpy as np
import pytest

from elasticrec.bundle.writer import pack
from elasticrec.space.budget import Budget
from elasticrec.space.ladder import Ladder
from tests.bundle.making import random_ids, random_material
from tests.bundle.reference import Reference

SHAPES = 2000
ABOUT = {"name": "any"}


def random_shape(rng):
    """Material of a random shape, and withdrawn items."""
    sizes = rng.integers(1, rng.choice([3, 20, 120]), rng.integers(1, 6)).tolist()
    V, N = sum(sizes), int(rng.integers(1, 5))
    ids = random_ids(rng, rng.choice(["none", "u32", "u64", "strings"]), V)
    square = rng.normal(size=(8 * N, 8 * N)).astype(np.float16)
    material = random_material(
        rng,
        sizes,
        N,
        n_rows=int(rng.integers(1, 8)),
        ids=ids,
        fold_map=square if rng.integers(2) else None,
        person=str(rng.choice(["history", "vector+history"])),
    )
    return material, rng.choice(V, rng.integers(0, min(V, 9)), replace=False)


@pytest.mark.parametrize("part", range(4))
def test_no_file_exceeds_its_budget_and_every_length_is_exact(part):
    for seed in range(part, SHAPES, 4):
        rng = np.random.default_rng(seed)
        material, withdrawn = random_shape(rng)
        accounting = material.accounting(len(withdrawn))
        ladder = Ladder.of(material.menu, accounting)
        span = ladder.full_bytes - ladder.smallest_bytes
        budget = Budget(ladder.smallest_bytes + int(rng.integers(0, span + 200)))
        choice = rng.integers(0, material.menu.n_rows, ladder.n_groups)
        left = ladder.allowance(budget) - int(ladder.cost(choice).sum())
        ladder.top_up(choice, ladder.repair(choice, left, rng), rng)
        composition = material.menu.compose(choice)
        file = pack(material, composition, about=ABOUT, withdrawn=withdrawn)
        assert len(file) == accounting.file_bytes(composition)
        assert len(file) + accounting.reserved_bytes <= budget.n_bytes
        if seed % 80 == part:
            read_back(file, material, composition, withdrawn)


def read_back(file, material, composition, withdrawn):
    """The slow reader finds in the last file what went into it."""
    reader = Reference(file)
    codes = material.codes
    assert reader.model_id == material.model_id
    assert reader.withdrawn == sorted(withdrawn.tolist())
    assert reader.depths == composition.depths.tolist()
    assert reader.counts == composition.neighbours.tolist()
    chosen = material.menu.choice_of(composition)
    assert [w[::-1] for w in reader.weights] == [tuple(w) for w in material.mixing.weights[chosen]]
    given = range(codes.n_items) if material.ids is None else material.ids
    assert reader.ids == [str(value) for value in given]
    for g, (start, stop) in enumerate(zip(codes.bounds[:-1], codes.bounds[1:], strict=True)):
        decoded = codes.decode(start, stop, composition.depths[g])
        for item in range(start, stop, 7):
            np.testing.assert_allclose(reader.vector(item), decoded[item - start], atol=2e-5)
            kept = int(composition.neighbours[g])
            lists = material.neighbours
            slots = zip(lists.numbers[item, :kept], lists.weights[item, :kept], strict=True)
            assert reader.slots.get(item, []) == [(int(n), int(w)) for n, w in slots]
