"""A run of a model written to files for other tools: a timeline, and tables."""
