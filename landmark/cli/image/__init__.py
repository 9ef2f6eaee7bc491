"""Commands for runs that name what is in an image."""
