"""Scalar instructions on bits, and comparisons."""

from __future__ import annotations

from .scalar import WORD, ScalarBinary

_SHIFT = WORD - 1
"""Bits of a shift count that count."""


class SAnd(ScalarBinary):
    """`dst = lhs & rhs`."""

    opcode = 0x00A
    mnemonic = "s_and"
    restates = "Scalar AND (64-bit)."

    @staticmethod
    def value(lhs: int, rhs: int) -> int:
        """Bits set in both."""
        return lhs & rhs


class SOr(ScalarBinary):
    """`dst = lhs | rhs`."""

    opcode = 0x00B
    mnemonic = "s_or"
    restates = "Scalar OR (64-bit)."

    @staticmethod
    def value(lhs: int, rhs: int) -> int:
        """Bits set in one or both."""
        return lhs | rhs


class SXor(ScalarBinary):
    """`dst = lhs ^ rhs`; with -1 every bit of `lhs` is turned over."""

    opcode = 0x00C
    mnemonic = "s_xor"
    restates = "Scalar XOR and NOT (64-bit)."

    @staticmethod
    def value(lhs: int, rhs: int) -> int:
        """Bits set in one."""
        return lhs ^ rhs


class SShl(ScalarBinary):
    """`dst = lhs << rhs`; the low 6 bits of `rhs` count."""

    opcode = 0x00D
    mnemonic = "s_shl"
    restates = "Scalar SHL (64-bit).  What counts of 64 and more do is not published."

    @staticmethod
    def value(lhs: int, rhs: int) -> int:
        """The number before wrapping."""
        return lhs << (rhs & _SHIFT)


class SShr(ScalarBinary):
    """`dst = lhs >> rhs` with copies of the sign; the low 6 bits of `rhs` count."""

    opcode = 0x00E
    mnemonic = "s_shr"
    restates = (
        "Scalar SHR of signed numbers (64-bit).  What counts of 64 and more do is not published."
    )

    @staticmethod
    def value(lhs: int, rhs: int) -> int:
        """The shifted number."""
        return lhs >> (rhs & _SHIFT)


class SEq(ScalarBinary):
    """`dst` = 1 if `lhs == rhs`, else 0."""

    opcode = 0x012
    mnemonic = "s_eq"
    restates = "Scalar CMP EQ (64-bit)."

    @staticmethod
    def value(lhs: int, rhs: int) -> int:
        """1 or 0."""
        return int(lhs == rhs)


class SNe(ScalarBinary):
    """`dst` = 1 if `lhs != rhs`, else 0."""

    opcode = 0x013
    mnemonic = "s_ne"
    restates = "Scalar CMP NE (64-bit)."

    @staticmethod
    def value(lhs: int, rhs: int) -> int:
        """1 or 0."""
        return int(lhs != rhs)


class SLt(ScalarBinary):
    """`dst` = 1 if `lhs < rhs`, signed, else 0."""

    opcode = 0x014
    mnemonic = "s_lt"
    restates = "Scalar CMP LT and, operands exchanged, GT (64-bit signed)."

    @staticmethod
    def value(lhs: int, rhs: int) -> int:
        """1 or 0."""
        return int(lhs < rhs)


class SLe(ScalarBinary):
    """`dst` = 1 if `lhs <= rhs`, signed, else 0."""

    opcode = 0x015
    mnemonic = "s_le"
    restates = "Scalar CMP LE and, operands exchanged, GE (64-bit signed)."

    @staticmethod
    def value(lhs: int, rhs: int) -> int:
        """1 or 0."""
        return int(lhs <= rhs)
