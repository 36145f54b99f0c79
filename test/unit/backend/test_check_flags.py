"""Misused flags: what is found, and what is said about waits that never end."""

import pytest

from hand_written import ADD, add_inputs, add_program, program, scale_program, scale_text, without
from npuc.backend.emulator.emulator import Emulator
from npuc.dialects.core.errors import DeadlockError, FlagError

SET = "set_flag src = {0}, dst = {1}, id = {2}"
WAIT = "wait_flag src = {0}, dst = {1}, id = {2}"


def run(*lines: str, checks: bool = True) -> None:
    """Run a kernel of these lines: `S> V 0` sets flag 0 from S to V, `S> V 0?` waits for it."""
    text: list[str] = []
    for line in lines:
        if ">" not in line:
            text.append(line)
            continue
        src, dst, event = line.rstrip("?").replace(">", "").split()
        text.append((WAIT if line.endswith("?") else SET).format(src, dst, event))
    Emulator(program("\n".join([*text, "end"]), {}, {}), checks=checks).run({})


def test_flags_used_rightly() -> None:
    run("V> M 0", "V> M 1", "V> M 1?", "V> M 0?", "M> V 0", "M> V 0?", "V> M 0", "V> M 0?")
    run("S> V 0", "S> V 0?", "V> S 3", "V> S 3?", "S> V 0", "S> V 0?")


@pytest.mark.parametrize("checks", [True, False])
def test_a_flag_set_twice(checks: bool) -> None:
    with pytest.raises(FlagError, match="flag 1 from V to M is set twice") as caught:
        run("V> M 1", "V> M 1", "V> M 1?", checks=checks)
    assert "set_flag at word 1 of kernel k" in str(caught.value)
    if checks:
        assert "set_flag at word 0 of kernel k, for /node set it" in str(caught.value)


@pytest.mark.parametrize("checks", [True, False])
def test_a_flag_left_set(checks: bool) -> None:
    with pytest.raises(FlagError, match="left set at the end"):
        run("V> M 1", checks=checks)


def test_a_flag_set_again_before_its_wait_is_known_to_be_over() -> None:
    """In program order the wait comes first, but V may well be ahead of M."""
    with pytest.raises(
        FlagError, match="flag 0 from V to M may be set while it is still set"
    ) as caught:
        run("V> M 0", "V> M 0?", "V> M 0", "V> M 0?")
    why = "V does not know that wait_flag at word 1 of kernel k, for /node has cleared it"
    assert caught.value.why == why


def test_an_id_the_machine_does_not_have() -> None:
    with pytest.raises(FlagError, match="flag 4 from V to M does not exist") as caught:
        run("V> M 4", "V> M 4?")
    assert caught.value.why == "the machine has the ids 0..3 for each pair of pipes"


@pytest.mark.parametrize("checks", [True, False])
def test_a_wait_for_nothing(checks: bool) -> None:
    with pytest.raises(DeadlockError) as caught:
        run("V> M 0", "V> M 1?", "V> M 0?", checks=checks)
    assert "wait_flag at word 1 of kernel k, for /node" in str(caught.value)
    if checks:
        assert caught.value.why == "nothing after it sets the flag, so M waits for ever"


def test_two_waits_for_each_other() -> None:
    with pytest.raises(DeadlockError) as caught:
        run("M> V 0?", "V> M 0?", "V> M 0", "M> V 0")
    assert caught.value.what == "flag 0 from M to V is not set when V waits for it"
    why = caught.value.why or ""
    assert "the flag is set only by set_flag at word 3" in why
    assert "which wait_flag at word 1" in why
    assert "it waits for set_flag at word 2" in why
    assert "which waits behind wait_flag at word 0" in why


def test_a_set_after_its_wait_in_program_order() -> None:
    with pytest.raises(DeadlockError, match="not set when M waits") as caught:
        run("V> M 0?", "V> M 0")
    assert (caught.value.why or "").endswith("which comes after the wait in program order")


def test_a_loop_whose_slots_were_never_given_free() -> None:
    text = without(scale_text(3), "set_flag src = V, dst = MTE2, id = 0")
    built, inputs = scale_program(3, text)
    with pytest.raises(DeadlockError) as caught:
        Emulator(built, checks=True).run(inputs)
    assert "flag 0 from V to MTE2 is not set when MTE2 waits for it" in str(caught.value)
    assert "which waits behind wait_flag at word 9" in str(caught.value)


def test_findings_are_collected() -> None:
    text = without(ADD, "flag")
    result = Emulator(add_program(text), checks=True, collect=True).run(add_inputs())
    kinds = [type(finding).__name__ for finding in result.report]
    assert kinds == ["RaceError", "RaceError"]
    assert str(result.report).count("race for byte") == 2


def test_a_finding_is_collected_once() -> None:
    text = without(scale_text(20), "V, dst = MTE3")
    built, inputs = scale_program(20, text)
    result = Emulator(built, checks=True, collect=True).run(inputs)
    assert 0 < len(result.report) <= 2
