"""Text without sentences: vocabularies, documents, streams."""
