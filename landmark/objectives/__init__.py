"""How models learn: each objective turns a batch into one or more players' turns."""
