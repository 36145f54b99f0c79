"""What numbers mean: numpy functions, each meaning once, for every level and the emulator."""
