"""Commands for models of running text: generate, prompt, story, fill, embed."""
