"""What happens inside a network that looks at images."""
