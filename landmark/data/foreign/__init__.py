"""Vocabularies of other libraries, for weights imported from them."""
