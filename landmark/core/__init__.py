"""What everything else stands on: configuration, registry, runtime, errors."""
