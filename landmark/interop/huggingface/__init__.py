"""Models and vocabularies in Hugging Face's format: in from its folders, and out to them."""
