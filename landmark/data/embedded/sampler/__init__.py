"""Drawing abstract sentences from the inventory, from phrases up to whole sentences."""
