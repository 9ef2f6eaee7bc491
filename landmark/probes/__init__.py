"""Analysis of models: attention, layers, gradients, optimizer paths."""
