from dataclasses import replace
from pathlib import Path

import pytest

from elasticrec.errors import InputError
from elasticrec.serve.config import AT_LEAST, ServeConfig

CONFIG = ServeConfig(models=(Path("a"), Path("b")), shelf=Path("shelf"), keys=Path("keys"))


def test_settings_travel_as_text():
    for config in (CONFIG, replace(CONFIG, keys=None, steps=(1, 2), ids="original", seed=3)):
        assert ServeConfig.from_json(config.to_json()) == config


def test_unknown_settings_are_refused():
    with pytest.raises(InputError, match="have shelv"):
        ServeConfig.from_json(CONFIG.to_json().replace('"shelf"', '"shelv"'))


@pytest.mark.parametrize("name", AT_LEAST)
def test_too_little_is_refused(name):
    with pytest.raises(InputError, match=f"{name} is .+, expected at least"):
        replace(CONFIG, **{name: AT_LEAST[name] - 1})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"models": ()}, "no model folder"),
        ({"steps": ()}, "rising"),
        ({"steps": (2, 1)}, "rising"),
        ({"steps": (0, 1)}, "rising"),
        ({"ids": "dense"}, "expected 'none' or 'original'"),
        ({"rounds": 0}, "rounds must be positive"),
    ],
)
def test_contradictions_are_refused(change, said):
    with pytest.raises(InputError, match=said):
        replace(CONFIG, **change)
