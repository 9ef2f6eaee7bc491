"""Networks whose layers slide over an image, from LeNet to ResNet."""
