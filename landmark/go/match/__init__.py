"""Matches between Go programs: ours, and any that speaks GTP."""
