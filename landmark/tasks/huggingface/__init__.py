"""Models of Hugging Face, in and out."""
