"""Measurements of GANs of images."""
