"""Running a compiled program from Python."""
