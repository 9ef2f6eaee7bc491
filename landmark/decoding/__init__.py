"""How a trained model speaks: greedy, sampling, beam search."""
