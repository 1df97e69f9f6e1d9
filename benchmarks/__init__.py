"""Side by side with peers, in one run."""
