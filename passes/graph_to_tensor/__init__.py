"""The lowering from graph to tensor."""
