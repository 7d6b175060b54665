import subprocess
import sys

CODE = """
import sys
import numpy as np
from elasticrec.search.evolution import SearchConfig, evolve
from elasticrec.search.controls import CONTROLS
from elasticrec.search.menu_rows import MenuRows
from elasticrec.search.problem import Problem
from elasticrec.space.budget import Budget, PaperAccounting
from elasticrec.space.composition import Menu
from elasticrec.space import clustering, energy, groups, randomizer, regroup
space = MenuRows(
    Menu.f32_prefixes(np.arange(4)), PaperAccounting(np.array([9, 9]), 4, 8), Budget(2000)
)
found = evolve(
    Problem(space, lambda d, n: d.sum(axis=(1, 2)) * 1.0), SearchConfig(), np.random.default_rng(0)
)
assert found.n_bytes <= 2000
heavy = {"torch", "scipy", "sklearn", "pandas", "polars", "matplotlib"}
print(sorted(heavy & set(sys.modules)))
"""


def test_searching_imports_nothing_heavy():
    ran = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
