"""Generative adversarial networks."""
