"""Two posteriors of the flights of New York, and what samplers make of them.

`target` poses them, `importance` and `long_nuts` make the references, `ours` and `peers` the
results in `results/`, and `page` writes docs/flights.md from these.
"""
