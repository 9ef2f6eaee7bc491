"""Runs that name what is in an image, ready to use."""
