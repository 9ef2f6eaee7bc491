"""Networks that learn to play Go: by games of others, by reinforcement, by their own search."""
