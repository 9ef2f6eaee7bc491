"""Games as SGF files: a tolerant reader and a writer above sgfmill."""
