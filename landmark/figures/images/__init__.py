"""Figures of networks for images."""
