"""Commands for runs that understand: predictions, and their evaluation."""
