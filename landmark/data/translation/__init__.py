"""Pairs of sentences: where they come from, how they are prepared, and batches of them."""
