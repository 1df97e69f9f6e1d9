"""Tables in: columns of numbers and words, the design of a regression, its posterior."""

from virial.table.column import Categorical, Column, Numeric
from virial.table.design import Coefficient, Design, design
from virial.table.flights import Flights, flights

__all__ = [
    "Categorical",
    "Coefficient",
    "Column",
    "Design",
    "Flights",
    "Numeric",
    "design",
    "flights",
]
