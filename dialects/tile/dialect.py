"""The `tile` dialect: kernels over buffers in memory spaces, and the program around them."""

from xdsl.ir import Dialect

from . import convolution, cube, host, kinds, memory, program, schedule, types, vector

DIALECT = Dialect(
    "tile",
    [
        program.ProgramOp,
        program.ReturnOp,
        program.ConstantOp,
        program.ViewOp,
        program.LaunchOp,
        host.HostCallOp,
        program.KernelOp,
        program.EndOp,
        program.CoreIdOp,
        memory.AllocOp,
        memory.SubviewOp,
        memory.CopyOp,
        memory.FillOp,
        memory.TapOp,
        cube.MmadOp,
        convolution.LoadFilterOp,
        convolution.Im2colOp,
        vector.UnaryOp,
        vector.BinaryOp,
        vector.ScalarOp,
        vector.CastOp,
        vector.ReduceOp,
        vector.BroadcastOp,
        vector.TransposeOp,
    ],
    [
        types.BufferType,
        schedule.ScheduleAttr,
        kinds.UnaryAttr,
        kinds.BinaryAttr,
        kinds.ReduceAttr,
        kinds.ModeAttr,
    ],
)
