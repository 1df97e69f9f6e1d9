"""WHAT is sampled: prior, likelihood of a row, rows; ready-made models; the mode."""
