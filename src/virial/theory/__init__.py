"""Exact formulas, no sampling: NumPy and SciPy only."""

from virial.theory.cheapest import CheapestRun, cheapest
from virial.theory.limits import LargeDataLimit, large_data_limit
from virial.theory.linear_average import TimeAverage
from virial.theory.linear_chain import LinearChain
from virial.theory.linear_gaussian import LinearGaussian, SchemeOptions
from virial.theory.random_data import ExpectedErrors, random_data
from virial.theory.row_noise import NoiseMoments, noise_moments
from virial.theory.toy import GaussianToy, StationaryLaw
from virial.theory.weak import bias_coefficient

__all__ = [
    "CheapestRun",
    "ExpectedErrors",
    "GaussianToy",
    "LargeDataLimit",
    "LinearChain",
    "LinearGaussian",
    "NoiseMoments",
    "SchemeOptions",
    "StationaryLaw",
    "TimeAverage",
    "bias_coefficient",
    "cheapest",
    "large_data_limit",
    "noise_moments",
    "random_data",
]
