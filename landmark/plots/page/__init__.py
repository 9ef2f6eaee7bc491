"""Figures as pages for the browser: one file each, which asks for nothing from elsewhere."""
