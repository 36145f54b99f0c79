"""Passes that attach or check the machine."""
