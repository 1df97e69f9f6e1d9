"""THE loop: compiled chunks, chains, streaming moments, the run it returns."""

from virial.run.result import Run, Settings
from virial.run.sample import sample
from virial.run.status import Status
from virial.run.storage import load
from virial.run.threads import single_thread

__all__ = ["Run", "Settings", "Status", "load", "sample", "single_thread"]
