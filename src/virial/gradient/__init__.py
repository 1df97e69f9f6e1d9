"""HOW the slope is estimated: full batch or minibatch, which rows, the estimator's noise."""
