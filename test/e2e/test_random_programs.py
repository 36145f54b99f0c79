"""Random programs mean the same at every level, on the emulator too, with all of its checks."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from graph_programs import Sample, programs
from npuc.backend.emulator.emulator import Emulator
from npuc.compiler.emit import emit_program
from npuc.compiler.pipeline import Options, run_stages
from npuc.dialects.core.dtypes import Array
from npuc.dialects.core.errors import PassError, UnsupportedError
from npuc.dialects.core.interpreter import Interpreter
from npuc.dialects.core.registry import make_context
from npuc.dialects.core.tolerance import compare

SOME = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def assert_close(got: Sequence[Array], reference: Sequence[Array]) -> None:
    for a, b in zip(got, reference, strict=True):
        result = compare(a, b, "f16" if b.dtype == np.float16 else "origin")
        assert result.ok, result.why


@pytest.mark.parametrize("target", ["tiny", "ascend310p"])
def test_all_levels_agree(target: str) -> None:
    ran: list[bool] = []

    @SOME
    @given(sample=programs())
    def check(sample: Sample) -> None:
        ran.append(run_all_levels(target, sample))

    check()
    assert sum(ran) > len(ran) / 2, "most programs were refused, so little was compared"


def run_all_levels(target: str, sample: Sample) -> bool:
    """Compare the levels of one program; whether it ran to the end, or was refused with a hint."""
    module, arguments = sample.module, sample.arguments
    ctx, options = make_context(), Options(target, "origin")
    with np.errstate(all="ignore"):
        reference = Interpreter(module, ctx.store).call("main", *arguments)
        try:
            for stage in ("tensor", "scheduled", "planned"):
                run_stages(module, ctx, stage, options=options)
                assert_close(Interpreter(module, ctx.store).call("main", *arguments), reference)
            run_stages(module, ctx, "final", options=options)
        except (PassError, UnsupportedError) as refusal:
            if not refusal.hint:
                raise
            return False
        program = emit_program(module, ctx.store)
        ports = program.entries[0].inputs
        result = Emulator(program, checks=True).run(
            {port.name: a for port, a in zip(ports, arguments, strict=True)}
        )
        outputs = [result.outputs[port.name] for port in program.entries[0].outputs]
        assert_close(outputs, reference)
    return True
