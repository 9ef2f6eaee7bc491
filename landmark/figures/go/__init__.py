"""Boards and games of Go."""
