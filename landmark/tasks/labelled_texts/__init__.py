"""What all tasks on labelled texts share: examples in, predictions and scores out."""
