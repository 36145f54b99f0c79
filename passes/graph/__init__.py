"""Passes within the graph level."""
