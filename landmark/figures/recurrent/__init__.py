"""Figures of recurrent networks."""
