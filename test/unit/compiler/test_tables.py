"""Columns line up whatever is in them, and figures are short."""

import pytest

from npuc.compiler.tables import align, bar, count_of, printable, size_of, width


def test_columns_line_up_left_and_right() -> None:
    lines = align([("name", "n"), ("a", "1"), ("long name", "1,000")], right=(1,))
    assert lines == ["name            n", "a               1", "long name   1,000"]


def test_nothing_trails() -> None:
    assert align([("a", ""), ("b", "c")]) == ["a", "b   c"]


def test_wide_characters_take_two_columns() -> None:
    lines = align([("层1", "x"), ("floor1", "z")])
    assert [width(line[: line.index(end)]) for line, end in zip(lines, "xz", strict=True)] == [9, 9]


def test_control_characters_are_written_out() -> None:
    assert printable("a\x1b[31m\n") == "a\\x1b[31m\\n"
    assert align([("a\nb", "c")]) == ["a\\nb   c"]


def test_no_rows_are_no_lines() -> None:
    assert align([]) == []


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KB"),
        (1536, "1.5 KB"),
        (1023 * 1024 + 1000, "1024 KB"),
        (20 << 20, "20 MB"),
        (25_769_803_776, "24 GB"),
        (3 << 40, "3 TB"),
    ],
)
def test_sizes(nbytes: int, text: str) -> None:
    assert size_of(nbytes) == text


def test_counts() -> None:
    counts = [count_of(1, "kernel"), count_of(0, "node"), count_of(1200, "launch")]
    assert counts == ["1 kernel", "0 nodes", "1,200 launches"]


def test_a_bar_counts_eighths() -> None:
    assert [bar(share, 4) for share in (-1.0, 0.0, 0.5, 1.0, 2.0)] == ["", "", "██", "████", "████"]
    assert bar(1 / 32, 4) == "▏"
