"""The lowering from tile to npu_isa."""
