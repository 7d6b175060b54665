"""Two real fits, of which `tests.killing` kills the second, which has other data."""

import numpy as np

from benchmarks.synthetic import planted_world, two_tastes
from elasticrec.cli._settings import configured
from elasticrec.errors import InputError
from elasticrec.model import Model
from elasticrec.pipeline import fit
from elasticrec.recommending import Ranker

PRESET = configured("demo", [
    "train.n_blocks=2", "train.epochs=1", "train.batch_size=512", "train.negatives=16",
    "compression.stages=1", "compression.rounds=1", "compression.min_support=2",
    "order.columns_per_slot=1,4", "order.leads=0,2", "order.vote_multiples=0.5,1",
    "order.vote_powers=0.5",    "order.vote_grid=2", "order.sizes=15,30", "order.vote_sizes=15",
])  # fmt: skip


def prepare(root):
    world = planted_world(300, 200, 6_000, np.random.default_rng(0), n_clusters=8)
    fit(world, root, PRESET, device="cpu")


def change(root):
    fit(two_tastes(24, 40, np.random.default_rng(0)), root, PRESET, device="cpu", force=True)


def read(root):
    """`old` or `new`, if all parts are sound and the stream ranks."""
    try:
        model = Model.open(root)
        for part in model.content["parts"]:
            model.check(part)
        assert len(Ranker(model).recommend(items=[1], k=5)) == 5
    except InputError as error:
        return str(error)
    return {200: "old", 40: "new"}[model.split.n_items] if model.is_finished else "unfinished"
