"""Autoencoders: images compressed and reconstructed."""
