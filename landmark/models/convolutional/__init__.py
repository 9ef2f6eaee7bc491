"""Convolutional networks, from LeNet to ResNet."""
