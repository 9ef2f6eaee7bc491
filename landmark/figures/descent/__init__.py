"""Figures of how optimisers move."""
