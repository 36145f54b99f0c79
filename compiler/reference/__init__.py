"""The manual of instructions and machines, written from what defines them.

`python -m npuc.compiler.reference FOLDER` (or `make docs`) writes `isa.md` and `machines.md`.
"""
