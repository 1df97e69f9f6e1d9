"""Tables in: columns of numbers and words, the design of a regression, its posterior."""

from virial.table.column import Categorical, Column, Numeric, Unusable
from virial.table.design import Coefficient, Design, design
from virial.table.family import FAMILIES, Target
from virial.table.flights import Flights, flights
from virial.table.read import BadTable, read
from virial.table.regression import Regression, regression

__all__ = [
    "FAMILIES",
    "BadTable",
    "Categorical",
    "Coefficient",
    "Column",
    "Design",
    "Flights",
    "Numeric",
    "Regression",
    "Target",
    "Unusable",
    "design",
    "flights",
    "read",
    "regression",
]
