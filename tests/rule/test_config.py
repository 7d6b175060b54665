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
        (SearchConfig, {"population": 0}, "population must be positive"),
        (SearchConfig, {"tournament": 0}, "tournament must be positive"),
        (SearchConfig, {"rounds": 0}, "rounds must be positive"),
        (SearchConfig, {"n_users": 0}, "n_users must be positive"),
        (SearchConfig, {"remeasured": -1}, "remeasured must be 0 or more"),
        (SearchConfig, {"mutations": ("jump",)}, "expected some of swap, reselect, move"),
        (SearchConfig, {"mutations": ()}, "expected some of swap, reselect, move"),
        (SpaceConfig, {"kind": "menu"}, "expected levels or blocks"),
        (SpaceConfig, {"groups": "taste"}, "expected one of random"),
        (SpaceConfig, {"groups": "random"}, "levels group items by popularity"),
        (SpaceConfig, {"n_groups": 0}, "n_groups 0, expected at least 1"),
        (SpaceConfig, {"n_levels": 1}, "n_levels 1, expected at least 2"),
        (SpaceConfig, {"n_features": 0}, "n_features 0"),
        (SpaceConfig, {"pca": True}, "pca is for groups by 'cluster'"),
        (SpaceConfig, {"sigma": 0.0}, "expected more than 0"),
        (SpaceConfig, {"spread": -1.0}, "expected more than 0"),
        (SamplesConfig, {"n_samples": 0}, "expected at least 1 of each"),
        (SamplesConfig, {"n_users": 0}, "expected at least 1 of each"),
        (SamplesConfig, {"metric": "auc"}, "auc"),
        (EstimatorConfig, {"kind": "cnn"}, "expected fm or dnn"),
        (EstimatorConfig, {"widths": ()}, "at least one positive"),
        (EstimatorConfig, {"learning_rates": (0.0,)}, "at least one positive"),
        (EstimatorConfig, {"l2s": (-1.0,)}, "at least one positive"),
        (EstimatorConfig, {"steps": 0}, "must be positive"),
    ],
)
def test_settings_that_make_no_sense_are_refused(kind, settings, message):
    with pytest.raises(InputError, match=message):
        kind(**settings)
