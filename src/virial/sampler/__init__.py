"""HOW one step moves: one file an algorithm, all in the same order."""

from virial.sampler.algorithm import Emission, Noise, Reduction, Sampler
from virial.sampler.mala import MALA
from virial.sampler.modified_sgld import ModifiedSGLD
from virial.sampler.preconditioner import fit
from virial.sampler.random_walk import RandomWalk
from virial.sampler.schedule import PolynomialDecay, size_of_step
from virial.sampler.sgld import SGLD, Euler

__all__ = [
    "MALA",
    "SGLD",
    "Emission",
    "Euler",
    "ModifiedSGLD",
    "Noise",
    "PolynomialDecay",
    "RandomWalk",
    "Reduction",
    "Sampler",
    "fit",
    "size_of_step",
]
