"""Images with captions: drawn scenes, Flickr8k and your own; the form and words of captions."""
