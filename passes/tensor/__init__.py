"""Passes within the tensor level."""
