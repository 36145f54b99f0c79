"""How much of a run is recorded."""

from hand_written import add_inputs, add_program
from npuc.backend.emulator.emulator import Emulator
from npuc.backend.emulator.trace import NO_TRACE, Coverage, Recorder


def test_nothing_is_recorded_unless_asked() -> None:
    assert Emulator(add_program()).run(add_inputs()).trace is NO_TRACE


def test_each_kernel_gets_its_part_and_what_others_left() -> None:
    recorder = Recorder({"a", "b", "c"}, 300)
    assert recorder.begin("a", [10, 10]) == [10, 10]
    assert recorder.begin("b", [500, 20]) == [70, 20]
    assert recorder.begin("c", [100, 90]) == [100, 90]
    assert recorder.begin("a", [1]) == [0]


def test_a_later_launch_is_recorded_in_full_or_not_at_all() -> None:
    recorder = Recorder({"a"}, 100)
    assert recorder.begin("a", [40]) == [40]
    assert recorder.begin("a", [40]) == [40]
    assert recorder.begin("a", [40]) == [0]
    assert recorder.begin("a", [20]) == [20]


def test_later_launches_leave_the_part_of_kernels_to_come() -> None:
    recorder = Recorder({"a", "b"}, 100)
    assert recorder.begin("a", [20]) == [20]
    assert recorder.begin("a", [60]) == [0]
    assert recorder.begin("b", [60]) == [60]


def test_coverage_is_by_task_and_core() -> None:
    recorder = Recorder({"a"}, 10)
    recorder.begin("a", [4, 30])
    recorder.skip()
    assert recorder.trace.coverage == ((Coverage(4, 4), Coverage(30, 5)), ())


def test_the_first_instructions_of_each_core_are_recorded() -> None:
    whole = Emulator(add_program(), trace=True).run(add_inputs())
    part = Emulator(add_program(), trace=True, trace_limit=3).run(add_inputs())
    assert part.tasks == whole.tasks
    (task,) = part.trace.coverage
    assert [core.recorded for core in task] == [3]
    spans, others = (
        [e.span for e in run.trace.events if e.span.pipe != "S"] for run in (whole, part)
    )
    assert others == [span for span in spans if span.first < 3]
