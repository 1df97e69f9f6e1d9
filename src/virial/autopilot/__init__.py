"""`sample`, the public one: with a sampler a run, without one a plan, a run, an audit, a repair."""

from virial.autopilot.planned import PlannedRun
from virial.autopilot.sample import sample
from virial.autopilot.summary import Summary

__all__ = ["PlannedRun", "Summary", "sample"]
