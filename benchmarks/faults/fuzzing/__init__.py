"""What `benchmarks/faults/fuzz.py` attacks: a module a kind of file, each with its TARGETS."""
