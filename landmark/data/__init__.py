"""From files to batches: text, tokenizers, token shards, the loader, the embedded corpus."""
