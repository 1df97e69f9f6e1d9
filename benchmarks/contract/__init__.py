"""A contract over posteriors: `vr.sample(posterior, rmse=0.05)` meets its target, or refuses."""
