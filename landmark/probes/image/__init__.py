"""Analysis of image networks."""
