"""The meaning of programs: core, target and the four levels of IR."""
