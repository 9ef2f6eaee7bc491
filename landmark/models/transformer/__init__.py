"""The Transformer and its descendants."""
