"""A small story whose numbers are known."""

import pytest

from elasticrec_demo.report.story import Agreement, Fit, Listed, Measured, Person, Stage, Story


def measured(method, n_bytes, recall, estimate=0.2):
    return Measured(
        method, n_bytes, 4, {"recall@50": recall, "recall@20": recall / 2}, 0.5, estimate
    )


@pytest.fixture
def story():
    listed = (Listed("Dune", True), Listed("<script>alert('1984')</script> & more", False))
    fits = tuple(
        Fit(
            budget,
            (measured("searched", n_bytes, recall), measured("uniform", n_bytes - 10, recall / 2)),
            ((32, 32, 32), (32, 0, 0)),
            listed,
        )
        for budget, n_bytes, recall in (("1 MB", 1_000_000, 0.1), ("2 MB", 2_000_000, 0.18))
    )
    return Story(
        dataset="books",
        n_users=10,
        n_items=20,
        n_interactions=100,
        metric="recall@50",
        group_kind="popularity",
        group_sizes=(10, 10),
        full=measured("full", 4_000_000, 0.2, None),
        full_listed=(Listed("Dune", True), Listed("Emma", False)),
        fits=fits,
        person=Person("ann", ("Ulysses",), 3),
        agreements=(Agreement("all sizes", 100, 0.9),),
        stages=(Stage("train", "once", 12.0),),
        model_id="abc",
        version="1.2.3",
    )
