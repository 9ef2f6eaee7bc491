"""Building blocks of image networks."""
