"""What ArviZ makes of a run: its installed release, the next one's interface, none at all."""

import sys
import types
import warnings

import numpy as np
import pytest
from run.models import hierarchy, normal, normal_sampler

import virial as vr


@pytest.fixture(scope="module")
def arviz():
    with warnings.catch_warnings():
        # The last release for Python 3.11 announces the next one at its first import.
        warnings.simplefilter("ignore", FutureWarning)
        return pytest.importorskip("arviz")


@pytest.fixture(scope="module")
def run():
    sampler = vr.SGLD(1e-3, vr.Minibatch(10))
    return vr.sample(
        hierarchy(), sampler, 4000, num_chains=3, keep_every=4, cores=1, progress=False
    )


def test_arviz_summarises_the_draws(arviz, run):
    data = run.to_arviz()
    assert dict(data.posterior.sizes) == {"chain": 3, "draw": 1000, "of_group_dim_0": 8}
    assert data.posterior.attrs["inference_library"] == "virial"
    assert "SGLD(step_size=0.001" in data.posterior.attrs["sampler"]
    assert data.posterior.attrs["status"] == "finished: 4000 steps"
    table = arviz.summary(data, round_to="none")
    assert table.loc["mean", "mean"] == pytest.approx(run.draws["mean"].mean(), abs=1e-5)
    assert table.loc["of_group[3]", "mean"] == pytest.approx(
        run.draws["of_group"][..., 3].mean(), abs=1e-5
    )
    assert table["ess_bulk"].min() > 3


# ArviZ 0.23 with Matplotlib 3.11.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_arviz_plots_the_draws(arviz, run):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    axes = arviz.plot_trace(run.to_arviz())
    assert axes.shape == (3, 2)
    pyplot.close("all")


@pytest.mark.parametrize("init", [0.5, [np.float32(0.1), (np.float32(0.2),)]])
def test_leaves_are_named_by_their_path(arviz, init):
    import jax

    posterior = vr.Posterior(
        lambda position: 0.0,
        lambda position, row: -sum((leaf - row) ** 2 for leaf in jax.tree.leaves(position)),
        np.ones(10), init,
    )  # fmt: skip
    data = vr.sample(posterior, vr.Euler(0.01), 8, cores=1, progress=False).to_arviz()
    assert set(data.posterior.data_vars) == ({"position"} if init == 0.5 else {"0", "1.0"})


def test_the_next_release_gets_one_dictionary_of_groups(run, monkeypatch):
    # arviz_base.from_dict(data, *, attrs=…): both are mappings from groups.
    calls = []
    module = types.ModuleType("arviz")
    module.__version__ = "1.0.0"
    module.from_dict = lambda data, *, attrs=None: calls.append((data, attrs)) or "tree"
    monkeypatch.setitem(sys.modules, "arviz", module)
    assert run.to_arviz() == "tree"
    ((data, attributes),) = calls
    assert set(data) == {"posterior"}
    assert data["posterior"]["of_group"].shape == (3, 1000, 8)
    assert attributes["posterior"]["inference_library"] == "virial"


def test_without_arviz_the_error_names_the_extra(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(ImportError, match=r"pip install 'virial\[arviz\]'"):
        run.to_arviz()


def test_without_draws_there_is_nothing_to_plot():
    run = vr.sample(normal(), normal_sampler(), 10, keep_every=None, cores=1, progress=False)
    with pytest.raises(ValueError, match="no draws were kept"):
        run.to_arviz()
