"""Eq. 4 and 5, against the sums written out."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.errors import InputError
from elasticrec.rule.config import EstimatorConfig
from elasticrec.rule.estimator import FORMS, Estimator, first_weights, fm

G, F, D0 = 5, 4, 6


def random_weights(kind, seed, *, linear=True):
    """Every weight away from its first value, as float32 tensors."""
    generator = torch.Generator().manual_seed(seed)
    config = EstimatorConfig(kind=kind, linear=linear)
    bits = (torch.rand((50, G, F), generator=generator) < 0.5).float()
    weights = first_weights(config, bits, D0, generator)
    return {
        name: (value + 0.3 * torch.randn(value.shape, generator=generator)).detach()
        for name, value in weights.items()
    }


def as_numpy(weights):
    return {name: value.numpy().astype(np.float64) for name, value in weights.items()}


def eq_4(w, g, kept):
    """x_g = W · [one-hot(g), multi-hot(B_g)]."""
    W = np.concatenate([w["group"], w["code"]]).T  # (d0, G + N)
    return W @ np.concatenate([np.eye(G)[g], kept])


def layer(x, weights, bias):
    return np.maximum(x @ weights + bias, 0)


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 1000), linear=st.booleans())
def test_fm_is_eq_5_written_out(seed, linear):
    w = as_numpy(random_weights("fm", seed, linear=linear))
    bits = np.random.default_rng(seed).integers(0, 2, size=(7, G, F)).astype(float)
    for kept, found in zip(bits, Estimator("fm", w).predict(bits), strict=True):
        x = [eq_4(w, g, kept[g]) for g in range(G)]
        pairs = sum(x[g] * x[h] for g in range(G) for h in range(g + 1, G))
        wanted = w["out"] @ layer(pairs, w["ffn"], w["ffn_bias"]) + w["bias"]
        if linear:
            wanted += kept.ravel() @ w["linear"]
        assert found == pytest.approx(wanted)
    assert ("linear" in w) is linear


def test_dnn_is_one_layer_on_all_groups(rng):
    w = as_numpy(random_weights("dnn", 1))
    bits = rng.integers(0, 2, size=(7, G, F)).astype(float)
    for kept, found in zip(bits, Estimator("dnn", w).predict(bits), strict=True):
        x = np.concatenate([eq_4(w, g, kept[g]) for g in range(G)])
        assert found == pytest.approx(w["out"] @ layer(x, w["layer"], w["layer_bias"]) + w["bias"])


def test_pairs_of_known_vectors():
    """(1 + 2 + 3)² less the squares, halved: 1·2 + 1·3 + 2·3 = 11."""
    w = {
        "group": np.zeros((3, 1)),
        "code": np.array([[1.0], [2.0], [3.0]]),
        "ffn": np.ones((1, 1)),
        "ffn_bias": np.zeros(1),
        "out": np.array([10.0]),
        "bias": np.array(0.5),
    }
    assert fm(w, np.eye(3)[None]).tolist() == [110.5]


@pytest.mark.parametrize("kind", FORMS)
def test_tensors_and_arrays_give_the_same(kind, rng):
    weights = random_weights(kind, 3)
    bits = rng.integers(0, 2, size=(20, G, F)).astype(np.float32)
    in_torch = FORMS[kind](weights, torch.from_numpy(bits)).numpy()
    assert Estimator(kind, as_numpy(weights)).predict(bits) == pytest.approx(in_torch, rel=1e-4)


@pytest.mark.parametrize("kind", FORMS)
def test_saved_and_loaded(kind, tmp_path, rng):
    made = Estimator(kind, as_numpy(random_weights(kind, 4)), {"metric": "recall@50"})
    made.save(tmp_path / "estimator.safetensors")
    loaded = Estimator.load(tmp_path / "estimator.safetensors")
    bits = rng.integers(0, 2, size=(9, G, F)).astype(float)
    assert np.array_equal(loaded.predict(bits), made.predict(bits))
    assert (loaded.kind, loaded.about) == (kind, {"metric": "recall@50"})


def test_what_is_no_estimator_is_refused(tmp_path):
    from safetensors.numpy import save_file

    path = tmp_path / "x.safetensors"
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(InputError, match="not a sound safetensors file"):
        Estimator.load(path)
    save_file({"a": np.zeros(2)}, path)
    with pytest.raises(InputError, match="not an estimator"):
        Estimator.load(path)


def test_other_shapes_are_refused():
    estimator = Estimator("fm", as_numpy(random_weights("fm", 0)))
    with pytest.raises(InputError, match=r"shape \(5, 3\), expected 5 groups of 4 bits"):
        estimator.predict(np.zeros((1, 5, 3)))
