"""Kernels: loops, buffers in memory spaces, copies, cube and vector work."""
