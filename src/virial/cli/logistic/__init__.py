"""`virial demo paper`: the paper's logistic regression, theory beside measurement."""
