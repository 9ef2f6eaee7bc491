"""Generative adversarial networks of images."""
