"""A run continued at half its step with the same noise: the bias that the step makes, measured."""

from virial.coupled.richardson import Extrapolated, Richardson, richardson

__all__ = ["Extrapolated", "Richardson", "richardson"]
