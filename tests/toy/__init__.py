"""A system that lives outside the package: docs/architecture.md, "Add a system", step by step.

An actor and a critic in a corridor: two players, a source that grows while it is read, and neither
texts nor images.
"""
