"""The lowering from tensor to tile."""
