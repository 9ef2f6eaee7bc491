"""How weights move: optimisers, learning-rate schedules, averaging."""
