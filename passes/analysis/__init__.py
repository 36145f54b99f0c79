"""Analyses that several passes share; they change nothing."""
