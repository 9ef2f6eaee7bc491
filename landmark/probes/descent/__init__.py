"""Optimizer paths on test surfaces, and the updates of real trainings."""
