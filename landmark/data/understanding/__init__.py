"""Tasks of understanding: labelled texts, from public sets or a user's files, as batches."""
