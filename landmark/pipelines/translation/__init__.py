"""A loaded translator: translate, search engines, documents, glossaries, scores, alignments."""
