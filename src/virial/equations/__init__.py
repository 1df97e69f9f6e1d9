"""WHAT a run adds up so that its bias can be measured and taken off: Stein moment equations."""

from virial.equations.cubic import MOST_CUBIC
from virial.equations.frame import Frame, Unsolvable, virial_covariance
from virial.equations.pilot import Pilot
from virial.equations.stein import MOST_COORDINATES, MomentEquations, instruments

__all__ = [
    "MOST_COORDINATES",
    "MOST_CUBIC",
    "Frame",
    "MomentEquations",
    "Pilot",
    "Unsolvable",
    "instruments",
    "virial_covariance",
]
