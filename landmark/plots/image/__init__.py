"""Pictures of what networks make of pictures."""
