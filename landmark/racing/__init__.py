"""Races: one problem trained by many methods under one protocol, and who was how fast."""
