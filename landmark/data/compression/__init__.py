"""Compressed files and archives: what they unpack to is bounded and checked."""
