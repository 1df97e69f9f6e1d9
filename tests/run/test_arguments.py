"""Every error names the argument, what was expected, what came, and the way out."""

import numpy as np
import pytest
from run.models import network, normal, normal_sampler

import virial as vr
from virial.run import arguments


@pytest.fixture(scope="module")
def posterior():
    return normal()


def sample(posterior, sampler=None, num_steps=100, **keywords):
    sampler = sampler or normal_sampler()
    return vr.sample(posterior, sampler, num_steps, cores=1, progress=False, **keywords)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"num_steps": 0}, "num_steps must be 1 or more, got 0"),
        ({"num_steps": 10.0}, "num_steps must be a whole number, got 10.0"),
        ({"num_steps": "many"}, "num_steps must be a whole number, got 'many'"),
        ({"num_chains": 0}, "num_chains must be 1 or more, got 0"),
        ({"num_chains": None}, "num_chains must be a whole number, got None"),
        ({"seed": -1}, "seed must be 0 or more, got -1"),
        ({"seed": 2**64}, "seed must lie in 0…2⁶⁴ − 1, got 18446744073709551616"),
        ({"seed": np.zeros(2)}, "seed must be a whole number"),
        ({"burn_in": 100}, "burn_in must lie below num_steps, got burn_in = 100 and"),
        ({"burn_in": -1}, "burn_in must be 0 or more, got -1"),
        ({"keep_every": 0}, "keep_every must be 1 or more, got 0"),
        ({"keep_every": 2**31}, "keep_every must lie below 2³¹ \\(None keeps none\\)"),
        ({"moments": "all"}, 'moments must be "equations", "full", "diagonal" or None'),
        ({"functions": {"f": 3}}, r"functions\['f'\] must be a function of the position, got 3"),
        ({"functions": {3: abs}}, "functions must map names to functions, got the name 3"),
        ({"functions": [abs]}, "functions must map names to functions"),
        (
            {"functions": {"f": lambda position: (position, position)}},
            r"functions\['f'\] must return an array, got tuple; pass one function for each part",
        ),
        ({"functions": {"f": lambda position: position * 1j}}, "must return real numbers"),
        ({"init": np.nan}, "init holds NaN or infinite numbers"),
        ({"init": np.zeros(3), "num_chains": 2}, "init"),
        ({"init": {"a": 0.0}}, "init"),
        ({"resume": "run.virial"}, "resume must be a Run, got str; virial.load reads one"),
        ({"sampler": "sgld"}, r"sampler must be a sampler such as SGLD\(…\), got 'sgld'"),
        ({"sampler": vr.SGLD}, "sampler must be a sampler such as"),
        ({"sampler": vr.SGLD(0.1, vr.Minibatch(200))}, r"batch_size must lie in 1…100"),
        (
            {"sampler": vr.Euler(0.1, preconditioner=np.ones(2))},
            "preconditioner has 2 coordinates, the position has 1",
        ),
    ],
)
def test_what_is_wrong_is_said(posterior, keywords, message):
    with pytest.raises((ValueError, TypeError), match=message):
        sample(posterior, **keywords)


def test_a_posterior_is_expected_first():
    with pytest.raises(TypeError, match=r"posterior must be a virial\.Posterior, got float"):
        vr.sample(0.1, normal_sampler(), 10)
    with pytest.raises(ValueError, match="cores must be 1 or more, got 0"):
        vr.sample(normal(), normal_sampler(), 10, cores=0)


@pytest.fixture(scope="module")
def run(posterior):
    return sample(posterior, num_steps=600, num_chains=2, seed=7, functions={"f": lambda x: -x})


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"num_steps": 599}, "num_steps counts all steps of the resumed run, which has 600; got"),
        ({"num_chains": 3}, "num_chains cannot change when resuming: the run has 2, got 3"),
        ({"seed": 8}, "seed cannot change when resuming: the run has 7, got 8"),
        ({"burn_in": 5}, "burn_in cannot change when resuming: the run has 0, got 5"),
        ({"keep_every": 2}, "keep_every cannot change"),
        ({"functions": {}}, r"must be passed again: the run averages 'f' of shape \(\), got none"),
        ({"functions": {"f": lambda x: x * np.ones(2)}}, r"got 'f' of shape \(2,\)"),
        ({"init": 0.0}, "init cannot be given when resuming: chains go on where they were"),
        ({"sampler": normal_sampler(0.004)}, r"asked for is SGLD\(step_size=0.004"),
        ({"sampler": normal_sampler(n=11)}, r"same rows, structure and sampler"),
    ],
)
def test_a_run_goes_on_only_as_it_began(posterior, run, keywords, message):
    with pytest.raises(ValueError, match=message):
        sample(
            posterior,
            **{"num_steps": 700, "functions": {"f": lambda x: -x}, **keywords},
            resume=run,
        )


@pytest.mark.parametrize(
    "other", [normal(101), vr.gaussian_mean(np.linspace(-1, 1.01, 100)), network()]
)
def test_a_run_does_not_go_on_with_other_rows(run, other):
    with pytest.raises(ValueError, match="resume must come from the same rows"):
        sample(other, num_steps=700, functions={"f": lambda x: 0.0}, resume=run)


def test_options_of_a_sampler_are_compared(posterior):
    first = vr.ModifiedSGLD(0.001, vr.Minibatch(10), kappa=1.0)
    part = sample(posterior, first, 300)
    with pytest.raises(ValueError, match=r"asked for is ModifiedSGLD\(.*kappa=4.0"):
        sample(posterior, vr.ModifiedSGLD(0.001, vr.Minibatch(10), kappa=4.0), 400, resume=part)


def test_the_sampler_is_described_without_addresses(posterior):
    exact = vr.ModifiedSGLD(0.001, vr.Minibatch(10), covariance=lambda theta: np.eye(1))
    assert "0x" not in sample(posterior, exact, 10).settings.sampler


def test_second_moments_are_full_where_they_cost_little(posterior):
    def chosen(posterior, num_steps, moments=None):
        sampler = vr.SGLD(0.01, vr.Minibatch(5))
        return arguments.check(
            posterior, sampler, num_steps, 1, 0, 0, 1, None, moments, None, None, None
        ).moments

    assert chosen(posterior, 10) == "full"
    assert chosen(posterior, 20_000) == "equations"
    wide = vr.gaussian_mean(np.ones((10, 65)))
    assert chosen(wide, 10) == "diagonal"
    with pytest.raises(ValueError, match='"full" or "diagonal" above 50 dimensions'):
        chosen(wide, 10, "equations")
