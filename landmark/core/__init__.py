"""The base of all packages: configuration, registry, runtime, errors."""
