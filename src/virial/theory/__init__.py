"""Exact formulas, no sampling: NumPy and SciPy only."""

from virial.theory.linear_chain import LinearChain
from virial.theory.linear_gaussian import LinearGaussian, SchemeOptions
from virial.theory.toy import GaussianToy, StationaryLaw

__all__ = ["GaussianToy", "LinearChain", "LinearGaussian", "SchemeOptions", "StationaryLaw"]
