"""Vocabularies that other libraries made, for weights that came with them."""
