"""Networks that judge positions of Go."""
