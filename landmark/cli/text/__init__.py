"""Commands for models of running text: generate, prompt, chat, fill, embed."""
