"""Settings: each says in its type what it may be, and everything else is refused in one line."""

import ast
from dataclasses import fields, is_dataclass, replace
from importlib import import_module
from pathlib import Path

import pytest

import elasticrec
from elasticrec.errors import InputError
from elasticrec.settings import Kind, Range, check, kinds

SOURCE = Path(elasticrec.__file__).parent


def configs():
    """Every config of the package that is checked."""
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text()
        if "elasticrec.settings import" in text:
            name = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
            for node in ast.parse(text).body:
                checked = "check(self)" in ast.unparse(node) or "(Settings)" in ast.unparse(node)
                if isinstance(node, ast.ClassDef) and checked:
                    yield getattr(import_module(name), node.name)


CONFIGS = [*configs()]
SETTINGS = [
    pytest.param(config, name, kind, id=f"{config.__name__}.{name}")
    for config in CONFIGS
    for name, kind in kinds(config).items()
    if kind is not None
]


def default(config):
    return config(models=(Path("MODEL"),)) if config.__name__ == "ServeConfig" else config()


def changed(config, name, kind, value):
    before = getattr(default(config), name)
    many = (value,) * (kind.length or max(len(before or ()), 1)) if kind.many else value
    return replace(default(config), **{name: many})


def test_all_configs_are_checked():
    assert {config.__name__ for config in CONFIGS} >= {
        "TrainConfig", "CompressionConfig", "LinearConfig", "OrderConfig", "OrderSearchConfig",
        "SpaceConfig", "SamplesConfig", "EstimatorConfig", "SearchConfig", "Preset",
        "PrepareConfig", "ServeConfig",
    }  # fmt: skip


@pytest.mark.parametrize(("config", "name", "kind"), SETTINGS)
def test_every_setting_has_a_range(config, name, kind):
    assert kind.type in (bool, str) or kind.limits is not None
    assert kind.holds(getattr(default(config), name))


@pytest.mark.parametrize(("config", "name", "kind"), SETTINGS)
def test_what_a_setting_cannot_mean_is_refused(config, name, kind):
    wrong = {bool: [1, "true"], str: [7, True], int: ["7", 2.5, True], float: ["7", True]}[
        kind.type
    ]
    if kind.limits is not None:
        wrong += [kind.limits.low - 1, kind.limits.high * 2 + 1, float("nan"), float("inf")]
    for value in wrong:
        with pytest.raises(InputError, match=f"^{name} is .*, expected ") as refused:
            changed(config, name, kind, value)
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Kind(int, Range(1, 2000)), "a whole number from 1 to 2,000"),
        (Kind(float, Range(0, 0.5)), "a number from 0 to 0.5"),
        (Kind(float, Range(0, 1), many=True, length=2), "2 numbers from 0 to 1"),
        (Kind(str, choices=("a", "b")), "one of a, b"),
        (Kind(str, choices=("a", "b"), many=True), "some of a, b"),
        (Kind(bool), "true or false"),
    ],
)
def test_a_kind_says_what_is_expected(kind, text):
    assert str(kind) == text


def test_texts_become_settings():
    assert Kind(float, many=True).parse("1, 2.5") == (1.0, 2.5)
    assert Kind(float, many=True, empty=True).parse("") == ()
    assert Kind(bool).parse("False") is False
    for kind, text in ((Kind(int), "1e3"), (Kind(bool), "perhaps"), (Kind(float), "wide")):
        with pytest.raises((ValueError, KeyError)):
            kind.parse(text)


def test_only_what_is_declared_so_may_be_empty():
    from elasticrec.ordering.search import OrderSearchConfig
    from elasticrec.training.config import TrainConfig

    assert TrainConfig(temperatures=()).temperatures == ()
    with pytest.raises(InputError, match=r"sizes is \(\), expected numbers"):
        OrderSearchConfig(sizes=())


def test_configs_inside_configs_check_themselves():
    from elasticrec.presets import Preset

    nested = [field.name for field in fields(Preset) if is_dataclass(getattr(Preset(), field.name))]
    assert nested == [name for name, kind in kinds(Preset).items() if kind is None]
    check(Preset())


def test_a_config_shows_what_differs_from_its_defaults():
    from elasticrec.presets import PRESETS, Preset
    from elasticrec.rule.config import RuleConfig, SamplesConfig

    assert repr(Preset()) == "Preset()"
    shown = "TrainConfig(epochs=4, negatives=512, temperatures=()), order=OrderSearchConfig("
    assert shown in repr(PRESETS["demo"])
    samples = SamplesConfig(n_samples=7)
    assert repr(RuleConfig(samples=samples)) == "RuleConfig(samples=SamplesConfig(n_samples=7))"
