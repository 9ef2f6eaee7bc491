"""Networks that describe an image: its places in, words out."""
