"""Masked language models: BERTs that fill in blanks."""
