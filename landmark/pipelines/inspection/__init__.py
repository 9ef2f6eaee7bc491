"""Runs opened to look inside them."""
