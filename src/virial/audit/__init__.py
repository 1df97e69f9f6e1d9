"""How wrong a finished run is: standard errors, measured bias, and its repair."""
