"""Machines: descriptions, features, costs and the timeline."""
