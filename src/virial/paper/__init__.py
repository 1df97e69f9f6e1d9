"""The paper's experiments: every figure, every claim."""
