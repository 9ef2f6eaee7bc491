"""What networks that see are made of."""
