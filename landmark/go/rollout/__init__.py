"""The rollout policy of AlphaGo: a linear softmax over local features, fast enough for playouts."""
