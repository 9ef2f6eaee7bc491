"""Decoding: greedy search, sampling, beam search."""
