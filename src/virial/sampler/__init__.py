"""HOW one step moves: one file an algorithm, all in the same order."""

from virial.sampler.algorithm import Emission, Noise, Reduction, Sampler
from virial.sampler.baoab import BAOAB
from virial.sampler.compensated_sgld import CompensatedSGLD
from virial.sampler.correction import largest_hV
from virial.sampler.fisher_scoring import FisherScoring
from virial.sampler.leimkuhler_matthews import LeimkuhlerMatthews
from virial.sampler.mala import MALA
from virial.sampler.modified_sgld import ModifiedSGLD
from virial.sampler.preconditioner import fit
from virial.sampler.random_walk import RandomWalk
from virial.sampler.schedule import PolynomialDecay, size_of_step
from virial.sampler.sghmc import SGHMC
from virial.sampler.sgld import SGLD, Euler
from virial.sampler.sgnht import SGNHT
from virial.sampler.ubu import UBU

__all__ = [
    "BAOAB",
    "MALA",
    "SGHMC",
    "SGLD",
    "SGNHT",
    "UBU",
    "CompensatedSGLD",
    "Emission",
    "Euler",
    "FisherScoring",
    "LeimkuhlerMatthews",
    "ModifiedSGLD",
    "Noise",
    "PolynomialDecay",
    "RandomWalk",
    "Reduction",
    "Sampler",
    "fit",
    "largest_hV",
    "size_of_step",
]
