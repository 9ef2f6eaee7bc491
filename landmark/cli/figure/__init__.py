"""`landmark figure`: pictures of what happens inside networks, each one command."""
