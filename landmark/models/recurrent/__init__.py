"""Networks that read one token after another and carry a state."""
