"""Monte Carlo tree search without a network: playouts, priors, UCT with RAVE."""
