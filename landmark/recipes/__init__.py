"""Complete runs: where the parts meet. One function is one recipe."""
