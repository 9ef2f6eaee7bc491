"""Positions as planes of numbers, which networks take."""
