"""Optimizers, learning rate schedules and weight averaging."""
