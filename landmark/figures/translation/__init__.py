"""Figures of translators: alignments, exposure bias, scores by length and by size."""
