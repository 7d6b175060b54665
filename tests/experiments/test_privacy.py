"""Privacy: an attack that finds what lists reveal of single persons, and what support does to it."""

from dataclasses import replace

import numpy as np
import pytest

from elasticrec.compression.config import CompressionConfig
from elasticrec.compression.neighbours import make_neighbours
from elasticrec.data.interactions import Pairs
from elasticrec.data.synthetic import planted_world
from experiments import lines, privacy
from experiments.attacking import Persons, guesses_by_lists, readings
from tests.experiments.test_experiments import invoke


def test_streams_of_a_half_are_attacked_and_the_cost_of_support_is_measured(
    results, data, small_preset
):
    invoke(privacy.app, "--dataset", "goodbooks", "--data", data, "--users", 50)
    print(privacy.gains(), privacy.costs())
