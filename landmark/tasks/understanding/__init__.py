"""Fine-tuned readers: labels, numbers, tags and answers for texts."""
