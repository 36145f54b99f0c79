"""Errors of single instructions, with the place in the program added."""

from __future__ import annotations

from typing import TypeVar

from ...dialects.core.errors import NpucError
from ..program import Kernel

Error = TypeVar("Error", bound=NpucError)


def describe(kernel: Kernel, word: int) -> str:
    """An instruction in a message: mnemonic, word, kernel, and the model's node it is for."""
    node = kernel.node_of(word)
    source = f", for {node}" if node else ""
    mnemonic = kernel.records[word].spec.mnemonic
    return f"{mnemonic} at word {word} of kernel {kernel.name}{source}"


def located(error: Error, kernel: Kernel, word: int, core: int) -> Error:
    """The same error, saying at which instruction and on which core."""
    where = f"{describe(kernel, word)}, on core {core}"
    return type(error)(error.what, where=where, why=error.why, hint=error.hint)
