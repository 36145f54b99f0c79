"""Bytes and execution of compiled programs; needs no xDSL."""
