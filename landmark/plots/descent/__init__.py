"""Pictures of descent: paths on surfaces, learning rates, momentum, updates."""
