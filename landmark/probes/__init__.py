"""What happens inside a model: attention, and the anatomy of its layers."""
