"""Figures of what happens inside recurrent networks."""
