"""What the emulator can find wrong with a program while it runs, one module a check."""
