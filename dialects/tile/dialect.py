"""The `tile` dialect: kernels over buffers in memory spaces, and the program around them."""

from xdsl.ir import Dialect

from . import compute, memory, program, schedule, types

DIALECT = Dialect(
    "tile",
    [
        program.ProgramOp,
        program.ReturnOp,
        program.ConstantOp,
        program.ViewOp,
        program.LaunchOp,
        program.KernelOp,
        program.EndOp,
        program.CoreIdOp,
        memory.AllocOp,
        memory.CopyOp,
        memory.FillOp,
        memory.TapOp,
        compute.MmadOp,
        compute.UnaryOp,
        compute.BinaryOp,
        compute.ScalarOp,
        compute.CastOp,
        compute.ReduceOp,
        compute.BroadcastOp,
    ],
    [
        types.BufferType,
        schedule.ScheduleAttr,
        compute.UnaryAttr,
        compute.BinaryAttr,
        compute.ReduceAttr,
        compute.ModeAttr,
    ],
)
