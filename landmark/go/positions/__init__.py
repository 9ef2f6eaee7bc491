"""Positions of games, packed as bits: what networks and policies are trained on."""
