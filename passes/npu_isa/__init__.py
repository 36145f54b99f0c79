"""Passes within the npu_isa level."""
