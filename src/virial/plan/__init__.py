"""Chooses sampler, step size, batch size and length for a wanted accuracy, from numbers."""
