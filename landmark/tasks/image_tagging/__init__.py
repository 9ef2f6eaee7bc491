"""Image tagging: the words of its captions that an image calls for."""
