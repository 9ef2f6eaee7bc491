"""The problems that Adam was tried on, and a Transformer: what methods race on."""
