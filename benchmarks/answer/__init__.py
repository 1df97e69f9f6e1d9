"""How long until an answer is right: four logistic regressions, this library and others.

`problems` poses them, `references` knows the truth; `exact`, `walks` and `own` are the contenders,
`section` the part of docs/benchmarks.md that shows them.
"""
