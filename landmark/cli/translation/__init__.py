"""Commands for translation runs: translate, evaluate, score, align, export."""
