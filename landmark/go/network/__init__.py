"""Neural networks as evaluators of Go positions, for searches and for players."""
