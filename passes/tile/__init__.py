"""Passes within the tile level."""
