"""Structured computations over explicit iteration spaces, and movements."""
