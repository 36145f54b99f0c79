"""Machine instructions, one class each."""
