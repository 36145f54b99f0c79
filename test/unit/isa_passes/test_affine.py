from npuc.passes.analysis.affine import UNBOUNDED, Affine, Interval, Symbol, difference

NEAR = Symbol(("i",), Interval(0, 3), frozenset({0}))
FAR = Symbol(("j",), Interval(0, UNBOUNDED), frozenset({1}))


def test_sums_cancel() -> None:
    i, j = Affine.of(NEAR), Affine.of(FAR)
    assert (i + j - j).terms == i.terms
    assert (i - i).is_constant
    assert (i.scaled(4) + Affine(8)).coefficient(NEAR) == 4
    assert i.scaled(0) == Affine(0)


def test_range() -> None:
    assert (Affine.of(NEAR).scaled(-2) + Affine(10)).range == Interval(4, 10)
    assert (Affine.of(NEAR) + Affine.of(FAR)).range.low == 0


def test_divisibility_needs_every_part() -> None:
    assert (Affine.of(NEAR).scaled(8) + Affine(16)).divisible_by(8)
    assert not (Affine.of(NEAR).scaled(8) + Affine(4)).divisible_by(8)


def test_a_shared_symbol_cancels_in_a_difference_and_another_does_not() -> None:
    left, right = Affine.of(NEAR).scaled(10) + Affine(1), Affine.of(NEAR).scaled(10)
    assert difference(left, right, lambda _: True) == Interval(1, 1)
    assert difference(left, right, lambda _: False) == Interval(-29, 31)


def test_a_symbol_is_its_name() -> None:
    assert Symbol(("i",), Interval(5, 6)) == NEAR
    assert difference(
        Affine.of(NEAR), Affine.of(Symbol(("i",), Interval(5, 6))), lambda _: True
    ) == (Interval(0, 0))
