"""Training that knows no model: the loop, validation, checkpoints, the run directory, processes."""
