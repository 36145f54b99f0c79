"""Text in columns, and figures as people read them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

BAR = 24
_KILO = 1024
_GAP = "   "


def align(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """Lines with the cells of each column below each other; columns in `right` end there.

    All rows have as many cells. Nothing is cut; what is not printable is shown as Python writes it.
    """
    plain = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(width, column)) for column in zip(*plain, strict=True)]
    return [
        _GAP.join(
            _padded(cell, wide, index in right)
            for index, (cell, wide) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in plain
    ]


def _padded(cell: str, wide: int, to_the_right: bool) -> str:
    space = " " * (wide - width(cell))
    return space + cell if to_the_right else cell + space


def width(text: str) -> int:
    """The columns a terminal takes for printable text."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def printable(text: str) -> str:
    """The text with control characters and the like escaped: names in models may hold any."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def count_of(number: int, noun: str) -> str:
    """Like `1 kernel`, `1,200 kernels` or `2 launches`."""
    plural = f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def size_of(nbytes: int) -> str:
    """Like `512 B`, `1.5 KB` or `20 MB`: three digits or so, 1024 bytes a KB."""
    if nbytes < _KILO:
        return f"{nbytes} B"
    size = float(nbytes)
    for unit in ("KB", "MB", "GB"):
        size /= _KILO
        if size < _KILO:
            return f"{size:.3g} {unit}" if size < 999.5 else f"{size:.0f} {unit}"
    return f"{size / _KILO:,.3g} TB"


def bar(share: float, width: int = BAR) -> str:
    """A bar of `width` characters for a share of 1; eighths of a character count."""
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    full, rest = divmod(eighths, 8)
    return "█" * full + ("▏▎▍▌▋▊▉"[rest - 1] if rest else "")
