import pytest

from elasticrec.errors import InputError
from elasticrec.rule.config import (
    EstimatorConfig,
    RuleConfig,
    SamplesConfig,
    SearchConfig,
    SpaceConfig,
)


@pytest.mark.parametrize(("width", "population"), [(64, 20), (128, 50)], ids=["amazon", "yelp"])
def test_printed_is_the_papers_appendix_a_and_b(width, population):
    config = RuleConfig.printed(width, population)
    space, samples, estimator, search = (
        config.space,
        config.samples,
        config.estimator,
        config.search,
    )
    assert (space.kind, space.groups, space.n_groups, space.sigma) == ("blocks", "random", 20, 1)
    assert not space.top_up
    assert (samples.n_samples, samples.n_users, samples.metric) == (15_000, 1_000, "recall@100")
    assert (estimator.kind, estimator.linear, estimator.widths) == ("fm", False, (width,))
    assert (search.population, search.rounds, search.tournament) == (population, 50, 5)
    assert search.mutations == ("swap", "reselect")
    assert not search.from_uniform
    assert search.remeasured == 0


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (SearchConfig, {"mutations": ("jump",)}, "expected some of swap, reselect, move"),
        (SearchConfig, {"mutations": ()}, "expected some of swap, reselect, move"),
        (SpaceConfig, {"kind": "menu"}, "expected one of levels, blocks"),
        (SpaceConfig, {"groups": "taste"}, "expected one of random"),
        (SpaceConfig, {"groups": "random"}, "levels group items by popularity"),
        (SpaceConfig, {"pca": True}, "pca is for groups by 'cluster'"),
        (SamplesConfig, {"metric": "auc"}, "auc"),
        (EstimatorConfig, {"kind": "cnn"}, "expected one of fm, dnn"),
    ],
)
def test_settings_that_make_no_sense_are_refused(kind, settings, message):
    with pytest.raises(InputError, match=message):
        kind(**settings)
