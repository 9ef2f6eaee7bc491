"""Images with their classes: where they are kept, how they are read, varied and put together."""
