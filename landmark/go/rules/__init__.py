"""The rules of Go on one flat record, compiled by numba."""
