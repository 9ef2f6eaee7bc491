"""The English-German corpus that ships with the project: a bilingual grammar and its lexicon."""
