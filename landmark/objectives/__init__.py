"""Training objectives: each turns a batch into one or more players' losses."""
