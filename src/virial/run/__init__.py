"""THE loop: compiled chunks, chains, streaming moments, the run it returns."""
