"""Language models: GPTs and recurrent networks that continue a text."""
