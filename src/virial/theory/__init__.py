"""Exact formulas, no sampling: NumPy and SciPy only."""
