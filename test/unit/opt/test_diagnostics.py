"""Diagnostics as text, and the comments that expect them."""

import pytest

from npuc.compiler.diagnostics import (
    Diagnostic,
    Expectation,
    expectations,
    mismatches,
    of_error,
    of_report,
)
from npuc.dialects.core.attributes import OriginAttr
from npuc.dialects.core.errors import PassError
from npuc.passes.base import Loss, PassReport, Remark


def test_an_error_with_a_place() -> None:
    error = PassError("no", where='dir/m.mlir:3:7 (node "/a:0")', why="1 is not 2", hint="wait")
    error.add_note("in pass p")
    assert str(of_error(error, "f")) == (
        'dir/m.mlir:3:7: error: no\n  where: (node "/a:0")\n  why: 1 is not 2\n  do: wait\n'
        "  in pass p"
    )


def test_an_error_without_a_place() -> None:
    assert str(of_error(PassError("no"), "f")) == "f: error: no"
    assert str(of_error(PassError("no", where="node x"), "f")) == "f: error: no\n  where: node x"


def test_remarks_and_losses() -> None:
    losses = [Loss(OriginAttr.of("n", f"t{i}"), "dead") for i in range(9)]
    report = PassReport([Remark("m:1:2", "deep"), Remark(None, "all")], losses)
    assert [str(d) for d in of_report(report, "p", "f")] == [
        "m:1:2: remark: deep",
        "f: remark: all",
        "f: remark: p: not observable from here on: "
        '"t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7" and 1 more',
    ]


def test_comments_expect_on_their_line_or_another() -> None:
    text = (
        "op // expected-error {{a}}\n"
        "// expected-error@+1 {{b c}}\n"
        "op // some words, expected-remark @-2 {{d}} expected-error {{}}\n"
        "expected-error {{not a comment}}\n"
    )
    assert expectations(text, 10) == [
        Expectation("error", 10, "a"),
        Expectation("error", 12, "b c"),
        Expectation("remark", 10, "d"),
        Expectation("error", 12, ""),
    ]


ERROR = Diagnostic("error", "f", 3, 1, "it is wrong")
REMARK = Diagnostic("remark", "f", 3, 1, "by the way")


@pytest.mark.parametrize(
    ("expected", "actual", "left"),
    [
        ([Expectation("error", 3, "wrong")], [ERROR], []),
        ([], [REMARK], []),
        ([Expectation("remark", 3, "way")], [REMARK], []),
        ([Expectation("error", 3, "way")], [REMARK], ['f:3:1: error: expected error "way" was']),
        ([], [ERROR], ["f:3:1: error: unexpected error: it is wrong"]),
        (
            [Expectation("error", 2, "wrong")],
            [ERROR],
            ['f:2:1: error: expected error "wrong" was not', "f:3:1: error: unexpected error: it"],
        ),
        ([Expectation("error", 3, "wrong")] * 2, [ERROR, ERROR], []),
        ([Expectation("error", 3, "wrong")] * 2, [ERROR], ["f:3:1: error: expected error"]),
    ],
)
def test_what_does_not_match(
    expected: list[Expectation], actual: list[Diagnostic], left: list[str]
) -> None:
    wrong = [str(d) for d in mismatches(expected, actual, "f")]
    assert len(wrong) == len(left)
    assert all(text.startswith(start) for text, start in zip(wrong, left, strict=True))
