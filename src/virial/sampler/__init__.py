"""HOW one step moves: one file an algorithm, all in the same order."""
