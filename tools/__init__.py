"""Thin command lines: npu-opt, npu-translate, npuc."""
