"""Figures, to files and to the terminal."""
