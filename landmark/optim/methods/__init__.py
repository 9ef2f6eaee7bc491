"""Optimizers, each written out beside its equation; torch's kernels behind them."""
