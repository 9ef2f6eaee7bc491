"""Trained runs ready to use: what the API, the command line and the service call."""
