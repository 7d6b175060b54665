import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.errors import InputError
from elasticrec.rule.estimator.features import Features
from elasticrec.rule.estimator.model import Estimator
from elasticrec.rule.estimator.network import build, export, group_curves, pairwise
from elasticrec.space.composition import F32

LEVELS = (0, 1, 3, F32)
FEATURES = Features(5, 4, LEVELS, (0, 2))


def compositions(rng, n):
    depths = np.array(LEVELS, dtype=np.uint8)[rng.integers(4, size=(n, 5, 4))]
    return depths, rng.choice(np.array([0, 2], dtype=np.uint8), size=(n, 5))


def network(kind, seed, *, linear=True):
    """A network with every weight away from its first value."""
    rng, generator = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    bits = torch.from_numpy(FEATURES.encode(*compositions(rng, 50)))
    built = build(kind, bits, 6, linear=linear, generator=generator)
    with torch.no_grad():
        for parameter in built.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
    return built


def test_smooth_weights_are_few_curves_over_the_groups_and_the_twin_agrees():
    rng, generator = np.random.default_rng(1), torch.Generator().manual_seed(1)
    depths, neighbours = compositions(rng, 50)
    bits = torch.from_numpy(FEATURES.encode(depths, neighbours))
    built = build("fm", bits, 6, linear=True, smooth=2, generator=generator)
    with torch.no_grad():
        for parameter in built.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
    weights = export(built, mean=0.0, scale=1.0)
    linear = weights["linear"].reshape(5, -1)
    assert np.linalg.matrix_rank(linear, tol=1e-5) == 2
    assert np.linalg.matrix_rank(weights["group"], tol=1e-5) == 2
    twin = Estimator(FEATURES, "fm", weights).predict(depths, neighbours)
    assert twin == pytest.approx(built(bits).detach().numpy(), rel=1e-4, abs=1e-4)


def test_curves_are_orthonormal_the_first_one_level():
    for groups, curves in ((20, 6), (5, 2), (1, 1), (2, 1)):
        found = group_curves(groups, curves)
        assert found.T @ found == pytest.approx(np.eye(curves), abs=1e-5)
        assert np.ptp(found[:, 0]) == pytest.approx(0, abs=1e-6)


def test_the_identity_is_the_double_sum():
    x = torch.randn(3, 7, 5, dtype=torch.float64)
    double = sum(x[:, g] * x[:, h] for g in range(7) for h in range(g + 1, 7))
    torch.testing.assert_close(pairwise(x), double)


def test_fm_is_eq_5_written_out():
    w = {name: value.detach().double() for name, value in network("fm", 3).named_parameters()}
    depths, neighbours = compositions(np.random.default_rng(9), 4)
    estimator = Estimator(FEATURES, "fm", export(network("fm", 3), mean=0.0, scale=1.0))
    for b, found in enumerate(estimator.predict(depths, neighbours)):
        bits = torch.from_numpy(FEATURES.encode(depths, neighbours)).double()[b]
        W = torch.cat([w["group"], w["code"]])  # (G + F, d0)
        x = [torch.cat([torch.eye(5).double()[g], bits[g]]) @ W for g in range(5)]
        pairs = sum(x[g] * x[h] for g in range(5) for h in range(g + 1, 5))
        y = torch.relu(pairs @ w["ffn"] + w["ffn_bias"]) @ w["out"] + w["bias"]
        y += sum(bits[g] @ w["linear"].reshape(5, -1)[g] for g in range(5))
        assert found == pytest.approx(float(y), rel=1e-6)


def test_dnn_is_one_layer_on_the_concatenation_written_out():
    built = network("dnn", 4)
    w = {name: value.detach().double() for name, value in built.named_parameters()}
    depths, neighbours = compositions(np.random.default_rng(9), 4)
    found = Estimator(FEATURES, "dnn", export(built, mean=0.0, scale=1.0))
    bits = torch.from_numpy(FEATURES.encode(depths, neighbours)).double()
    x = bits @ w["code"] + w["group"]  # (B, G, d0)
    hidden = torch.relu(x.flatten(1) @ w["layer"].flatten(0, 1) + w["layer_bias"])
    expected = (hidden @ w["out"] + w["bias"]).numpy()
    np.testing.assert_allclose(found.predict(depths, neighbours), expected, rtol=1e-5)


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**31), kind=st.sampled_from(["fm", "dnn"]), linear=st.booleans())
def test_the_numpy_twin_gives_what_torch_gives(seed, kind, linear):
    built = network(kind, seed, linear=linear)
    depths, neighbours = compositions(np.random.default_rng(seed), 30)
    with torch.no_grad():
        expected = built(torch.from_numpy(FEATURES.encode(depths, neighbours))).numpy()
    twin = Estimator(FEATURES, kind, export(built, mean=0.2, scale=0.01))
    found = twin.predict(depths, neighbours)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected * 0.01 + 0.2, rtol=1e-4, atol=1e-5)


def test_an_estimate_does_not_depend_on_its_company():
    depths, neighbours = compositions(np.random.default_rng(0), 5000)  # several products
    twin = Estimator(FEATURES, "fm", export(network("fm", 1), mean=0.0, scale=1.0))
    together = twin.predict(depths, neighbours)
    some = np.array([0, 17, 2047, 2048, 4999])
    alone = [twin.predict(depths[i : i + 1], neighbours[i : i + 1])[0] for i in some]
    np.testing.assert_allclose(alone, together[some], rtol=1e-12)
    assert twin.predict(depths[:0], neighbours[:0]).shape == (0,)


def test_what_was_saved_is_what_is_loaded(tmp_path):
    about = {"metric": "recall@100", "rmse": 0.25}
    twin = Estimator(FEATURES, "fm", export(network("fm", 1), mean=0.1, scale=0.2), about)
    twin.save(tmp_path / "estimator.safetensors")
    back = Estimator.load(tmp_path / "estimator.safetensors")
    depths, neighbours = compositions(np.random.default_rng(5), 20)
    assert np.array_equal(back.predict(depths, neighbours), twin.predict(depths, neighbours))
    assert (back.features, back.kind, back.about) == (FEATURES, "fm", about)
    assert back.fingerprint() == twin.fingerprint()
    other = Estimator(FEATURES, "fm", export(network("fm", 2), mean=0.1, scale=0.2), about)
    assert other.fingerprint() != twin.fingerprint()


def test_wrong_shapes_unknown_levels_and_other_files_are_refused(tmp_path):
    twin = Estimator(FEATURES, "fm", export(network("fm", 1), mean=0.0, scale=1.0))
    depths, neighbours = compositions(np.random.default_rng(5), 2)
    with pytest.raises(InputError, match="expected 5 groups of 4 blocks"):
        twin.predict(depths[:, :4], neighbours[:, :4])
    depths[1, 2, 3] = 7
    with pytest.raises(InputError, match=r"depth outside \(0, 1, 3, 32\)"):
        twin.predict(depths, neighbours)
    (tmp_path / "noise").write_bytes(b"not an estimator")
    with pytest.raises(InputError, match="not a sound safetensors file"):
        Estimator.load(tmp_path / "noise")
    from safetensors.numpy import save_file

    save_file({"x": np.zeros(2)}, tmp_path / "other")
    with pytest.raises(InputError, match="not an estimator"):
        Estimator.load(tmp_path / "other")


def test_estimating_imports_no_torch(tmp_path):
    path = tmp_path / "estimator.safetensors"
    Estimator(FEATURES, "fm", export(network("fm", 1), mean=0.0, scale=1.0)).save(path)
    code = (
        "import sys, numpy as np\n"
        "from elasticrec.rule.estimator.model import Estimator\n"
        "import elasticrec.rule.estimator.building, elasticrec.presets\n"
        f"e = Estimator.load({str(path)!r})\n"
        "e.predict(np.zeros((1, 5, 4), np.uint8), np.zeros((1, 5), np.uint8))\n"
        "print([name for name in ('torch', 'scipy', 'polars') if name in sys.modules])\n"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"
