"""Translation: a text into another language, by Transformers and recurrent networks."""
