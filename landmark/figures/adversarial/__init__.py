"""Figures of generative adversarial networks."""
