"""Networks: a settings dataclass and a module each. They own no loss, optimiser or file format."""
