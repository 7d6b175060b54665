"""The trained rivals, one file each, by the name their result lines carry.

Beside them: `quantisers` of a table that is trained, and `neighbours`, lists alone.
"""

from __future__ import annotations

from experiments.baselines.autoemb import AUTOEMB
from experiments.baselines.contract import Baseline, BudgetTooSmall, Fitted
from experiments.baselines.dlrm_ce import DLRM_CE
from experiments.baselines.esapn import ESAPN
from experiments.baselines.fixed_size import LIGHTGCN, LIGHTGCN_INT8, MATRYOSHKA, PMF, PMF_INT8
from experiments.baselines.lightrec import LIGHTREC
from experiments.baselines.pruning import PRUNING

_ALL: tuple[Baseline, ...] = (
    *(PMF, LIGHTGCN, PMF_INT8, LIGHTGCN_INT8),
    *(ESAPN, AUTOEMB, DLRM_CE, LIGHTREC),
    *(MATRYOSHKA, PRUNING),
)
BASELINES: dict[str, Baseline] = {each.name: each for each in _ALL}
"""By name; each trains by the library's own loop."""

__all__ = ["BASELINES", "Baseline", "BudgetTooSmall", "Fitted"]
