"""Optimizer benchmarks: one problem trained with many optimizers under one protocol."""
