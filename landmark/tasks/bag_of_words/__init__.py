"""Bag of words: logistic regression on word counts."""
