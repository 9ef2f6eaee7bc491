"""How good it is: scores of translations."""
