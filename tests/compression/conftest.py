"""Small tables and codes."""

import numpy as np
import pytest

from elasticrec.compression.codes import Codes
from elasticrec.compression.compress import compress
from elasticrec.compression.config import CompressionConfig


@pytest.fixture(scope="session")
def items() -> np.ndarray:
    """(600, 16) unit vectors in eight clusters."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(8, 16))
    found = centres[rng.integers(8, size=600)] + 0.4 * rng.normal(size=(600, 16))
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="session")
def codes(items: np.ndarray) -> Codes:
    return compress(items, CompressionConfig(stages=3, points=600))
