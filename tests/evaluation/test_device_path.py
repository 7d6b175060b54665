import numpy as np
import pytest

from elasticrec.data.errors import InputError
from elasticrec.data.interactions import Ids
from elasticrec.data.splitting import Split
from elasticrec.evaluation.coded import score_reference
from elasticrec.evaluation.device_path import device_scores, measure_composition
from elasticrec.evaluation.metrics import ndcg_at, recall_at
from elasticrec.evaluation.persons import folded_vectors, server_vectors
from elasticrec.space.composition import Composition


def split_of(asked):
    """A split whose train is what was seen and whose test is what is relevant."""
    nothing = asked.seen.rows(np.zeros(asked.seen.n_users, dtype=np.int64))
    return Split(
        train=asked.seen,
        validation=nothing,
        test=asked.relevant,
        user_ids=Ids(np.arange(30)),
        item_ids=Ids(np.arange(90)),
        name="made",
        kind="random-70-10-20",
    )


@pytest.mark.parametrize("person", ["vector+history", "history"])
def test_it_ranks_as_the_page_says(coded, rng, person):
    model, asked = coded[0](rng, fold_map=True), coded[1](rng)
    split = split_of(asked)
    composition = model.menu.compose(np.array([2, 19, 0, 11, 4]))
    with_map = person == "history"
    found = measure_composition(
        model, composition, split, person=person, metrics=["recall@5", "ndcg@20"],
        with_map=with_map, withdrawn=np.array([1, 40]), device="cpu", keep_per_user=True,
    )  # fmt: skip
    if person == "history":
        vectors = folded_vectors(model, asked.seen, composition, with_map=True)
    else:
        vectors = server_vectors(model, asked.users)
    listed = set()
    for user in (0, 4, 11, 29):
        history = set(asked.seen.of(user).tolist())
        scores = {
            item: score_reference(model, composition, vectors[user], history, person, item)
            for item in set(range(90)) - history - {1, 40}
        }
        ranked = sorted((i for i in scores if scores[i] > -np.inf), key=lambda i: (-scores[i], i))
        listed |= set(ranked[:20])
        relevant = asked.relevant.of(user).tolist()
        assert found.per_user["recall@5"][user] == pytest.approx(recall_at(5, ranked, relevant))
        assert found.per_user["ndcg@20"][user] == pytest.approx(ndcg_at(20, ranked, relevant))
    assert len(listed) / 90 <= found.coverage <= 1 - 2 / 90


def test_folding_from_less_changes_what_a_history_gives(coded, rng):
    model, asked = coded[0](rng), coded[1](rng)
    split = split_of(asked)
    little = model.menu.compose(np.full(5, 4))
    by_vector, by_history = (
        measure_composition(model, little, split, person=person, device="cpu").metrics
        for person in ("vector+history", "history")
    )
    assert by_vector != by_history
    exact = device_scores(model, little, asked, "history").dense(0, little.depths[0], 0, 30)
    cached = device_scores(model, None, asked, "history").dense(0, little.depths[0], 0, 30)
    assert not np.allclose(exact, cached)


def test_a_composition_of_other_groups_is_refused(coded, rng):
    model, asked = coded[0](rng), coded[1](rng)
    with pytest.raises(InputError, match="expected 5 groups of 3"):
        measure_composition(model, Composition.full(4, 3), split_of(asked), device="cpu")
