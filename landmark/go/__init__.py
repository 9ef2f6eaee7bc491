"""Go: rules, search without a network, and the protocol that Go programs speak."""
