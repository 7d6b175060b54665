import numpy as np
import pytest

from elasticrec.space.clustering import cluster, principal_components


def blobs(seed, n=600, k=6, d=8):
    rng = np.random.default_rng(seed)
    truth = rng.integers(k, size=n)
    return (rng.normal(0, 10, (k, d))[truth] + rng.normal(size=(n, d))).astype(np.float32), truth


def inertia(points, labels):
    return sum(
        ((points[labels == c] - points[labels == c].mean(axis=0)) ** 2).sum() for c in set(labels)
    )


def test_finds_blobs_that_lie_apart():
    points, truth = blobs(0)
    labels = cluster(points, 6, np.random.default_rng(1))
    assert len({(a, b) for a, b in zip(truth, labels, strict=True)}) == 6


def test_is_as_tight_as_another_k_means():
    from sklearn.cluster import KMeans

    points, _ = blobs(3, n=1500, k=40, d=4)
    ours = min(inertia(points, cluster(points, 10, np.random.default_rng(s))) for s in range(3))
    theirs = KMeans(10, n_init=3, random_state=0).fit(points).inertia_
    assert ours < theirs * 1.02


def test_the_seed_decides():
    points = np.random.default_rng(0).normal(size=(300, 5))
    one, same, other = (cluster(points, 7, np.random.default_rng(s)) for s in (4, 4, 5))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_no_cluster_is_empty_even_among_equal_points():
    labels = cluster(np.ones((5, 3)), 5, np.random.default_rng(0))
    assert sorted(labels) == [0, 1, 2, 3, 4]


def test_refuses_more_clusters_than_points():
    with pytest.raises(ValueError, match="4 clusters of 3 points"):
        cluster(np.ones((3, 2)), 4, np.random.default_rng(0))


def test_components_are_the_widest_directions():
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(1000, 3)) * np.array([10.0, 3.0, 0.1])
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    found = principal_components((hidden @ turn + 5).astype(np.float32))
    assert found.shape == (1000, 2)
    for n in range(2):
        assert abs(np.corrcoef(found[:, n], hidden[:, n])[0, 1]) > 0.999
    assert np.allclose(found.std(axis=0), hidden[:, :2].std(axis=0), rtol=0.01)
