"""Runs made of Hugging Face's models, and models of theirs made of runs."""
