"""Figures of networks that look at images."""
