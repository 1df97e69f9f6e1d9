"""Bayesian sampling on minibatches that says how wrong its answer is."""
