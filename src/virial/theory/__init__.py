"""Exact formulas, no sampling: NumPy and SciPy only."""

from virial.theory.linear_chain import LinearChain
from virial.theory.linear_gaussian import LinearGaussian, SchemeOptions

__all__ = ["LinearChain", "LinearGaussian", "SchemeOptions"]
