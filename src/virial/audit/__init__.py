"""How wrong a finished run is: standard errors, measured bias, and its repair."""

from virial.audit.audit import Audit, Corrected, Parts, RepairRefused, audit

__all__ = ["Audit", "Corrected", "Parts", "RepairRefused", "audit"]
