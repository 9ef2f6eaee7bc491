"""One room a task. This is the only file that names them."""
