"""Networks for adversarial training."""
