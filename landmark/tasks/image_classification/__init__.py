"""Image classification, by convolutional networks and Vision Transformers."""
