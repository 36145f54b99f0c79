"""Rewrites, one pass a file."""
