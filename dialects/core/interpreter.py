"""Running any level on numpy: each region is compiled once to closures over a list of slots.

A function, or a region that is isolated from above, has one list of slots with a slot per SSA
value; regions nested in it share the list. A step is a closure that reads and writes slots; slot 0
holds the frame. Tensors and buffers are arrays, `index` is a Python int, other scalars are numpy
scalars. Bodies of structured operations run on whole arrays bound to their scalar arguments
(`evaluate_block`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import IndexType, ModuleOp, ShapedType, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import IsolatedFromAbove, IsTerminator

from .attributes import OriginAttr, element_name
from .dtypes import Array, from_numpy, to_numpy
from .errors import ExecutionError, InputError, InternalError, NpucError
from .locations import where
from .ops import EffectOp, NpucOp
from .origins import name_of, origins_of
from .store import Store
from .upstream import ELEMENTWISE

Slots: TypeAlias = list[Any]
RunStep: TypeAlias = Callable[[Slots], None]
Observe: TypeAlias = Callable[[OriginAttr, Array], None]


class Code(NamedTuple):
    """A compiled block: slots of its arguments, steps with their ops, slots it ends with."""

    arguments: tuple[int, ...]
    steps: tuple[RunStep, ...]
    ops: tuple[Operation, ...]
    results: tuple[int, ...]

    def run(self, slots: Slots, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Bind the arguments, run the steps and return the operands of the terminator."""
        for slot, argument in zip(self.arguments, arguments, strict=True):
            slots[slot] = argument
        step = None
        try:
            for step in self.steps:
                step(slots)
        except NpucError as error:
            if error.where is None and step is not None:
                error.where = where(self.ops[self.steps.index(step)])
            raise
        return tuple([slots[slot] for slot in self.results])


@dataclass
class Scope:
    """The slots of one function or isolated region, and the code of the blocks that share them."""

    slots: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    codes: dict[Block, Code] = field(default_factory=dict[Block, Code])

    def define(self, value: SSAValue) -> int:
        """The new slot of a value."""
        number = self.slots[value] = len(self.slots) + 1
        return number

    def use(self, value: SSAValue) -> int:
        """The slot of a value; `ExecutionError` if it is not defined where it is used."""
        number = self.slots.get(value)
        if number is None:
            raise ExecutionError(
                "a value from outside is used in a region that must not see it",
                why=f"%{value.name_hint or '?'} is not defined in it",
            )
        return number


class Frame:
    """One activation of a function or isolated region; what an `EffectOp` runs in."""

    def __init__(
        self, interpreter: Interpreter, scope: Scope, slots: Slots, env: Mapping[str, Any]
    ) -> None:
        self._interpreter = interpreter
        self._scope = scope
        self._slots = slots
        self.env = env
        """What the caller bound for this activation and those below, as the core that runs."""

    @property
    def store(self) -> Store:
        """The weights of the module."""
        return self._interpreter.store

    @property
    def observe(self) -> Observe | None:
        """Whom to tell about values with origins; None if nobody asked."""
        return self._interpreter.observe

    def get(self, value: SSAValue) -> Any:
        """The value of an operand."""
        return self._slots[self._scope.slots[value]]

    def set(self, value: SSAValue, content: Any) -> None:
        """Give a result its value."""
        self._slots[self._scope.slots[value]] = content

    def run_block(self, block: Block, arguments: Sequence[Any] = ()) -> tuple[Any, ...]:
        """Run a block of the op with values for its arguments; the terminator's operands.

        A block that sees the values around it shares this frame, an isolated one gets its own.
        """
        code = self._scope.codes.get(block)
        if code is not None:
            return code.run(self._slots, arguments)
        return self._interpreter.enter(block, arguments, self.env)

    def call(
        self, symbol: str, arguments: Sequence[Any], env: Mapping[str, Any] | None = None
    ) -> tuple[Any, ...]:
        """Run the body of the symbol in a new frame; what its terminator returns.

        `env` is added to this frame's environment for the callee and all it calls.
        """
        body = self._interpreter.body(symbol)
        return self._interpreter.enter(body, arguments, {**self.env, **(env or {})})


class Interpreter:
    """Runs the functions of a module. Make a new one after changing the module.

    `store` holds the weights the module names; `observe(origin, array)` is called for every value
    with an origin when it is computed, in program order. One interpreter may be used by one thread
    at a time.
    """

    def __init__(
        self, module: ModuleOp, store: Store | None = None, *, observe: Observe | None = None
    ) -> None:
        self.store = Store() if store is None else store
        self.observe = observe
        self._symbols: dict[str, Operation] = {}
        for op in module.ops:
            if isinstance(name := op.properties.get("sym_name"), StringAttr):
                self._symbols[name.data] = op
        self._scopes: dict[Block, Scope] = {}

    def call(self, name: str, *arguments: Array | np.generic | int) -> tuple[Any, ...]:
        """Run `name` on arrays (or scalars) of exactly the shapes and types of its arguments.

        `InputError` for an unknown function or an argument that does not fit, `ExecutionError` for
        an op that has no meaning or goes wrong.
        """
        block = self.body(name)
        if len(arguments) != len(block.args):
            raise InputError(
                f"`{name}` takes {len(block.args)} arguments", why=f"{len(arguments)} were given"
            )
        values = [
            _checked(name_of(arg) or f"#{arg.index}", arg.type, value)
            for arg, value in zip(block.args, arguments, strict=True)
        ]
        return self.enter(block, values, {})

    def body(self, name: str) -> Block:
        """The entry block of the symbol `name`; `InputError` if the module has none with a body."""
        op = self._symbols.get(name)
        block = op.regions[0].blocks.first if op is not None and op.regions else None
        if block is None:
            known = ", ".join(self._symbols) or "nothing"
            what = f"there is no function `{name}` to run"
            raise InputError(what, why=f"the module has {known}")
        return block

    def enter(
        self, block: Block, arguments: Sequence[Any], env: Mapping[str, Any]
    ) -> tuple[Any, ...]:
        """Run an entry block in a new frame."""
        scope = self._scopes.get(block)
        if scope is None:
            scope = self._scopes[block] = Scope()
            _Compiler(scope, self.observe).block(block)
        slots: Slots = [None] * (len(scope.slots) + 1)
        slots[0] = Frame(self, scope, slots, env)
        if self.observe is not None:
            for argument, value in zip(block.args, arguments, strict=True):
                for origin in origins_of(argument):
                    self.observe(origin, value)
        return scope.codes[block].run(slots, arguments)


def evaluate_block(block: Block, arguments: Sequence[Any]) -> tuple[Any, ...]:
    """Run a block of pure ops on arrays (or scalars) bound to its arguments; what it yields.

    The scalar types of the block say the element types; shapes only need to broadcast. The block
    must not use values from outside, call functions or read weights.
    """
    pairs = zip(block.args, arguments, strict=True)
    values = [_coerced(argument.type, value) for argument, value in pairs]
    scope = Scope()
    code = _Compiler(scope, None).block(block)
    return code.run([None] * (len(scope.slots) + 1), values)


def _coerced(type_: Attribute, value: Any) -> Any:
    """A Python scalar as the numpy scalar its type asks for; anything else as it is."""
    if isinstance(value, bool | int | float) and not isinstance(type_, IndexType):
        return to_numpy(element_name(type_)).type(value)
    return value


def _checked(name: str, type_: Attribute, value: Any) -> Any:
    """`value` as an array of the shaped type; `InputError` naming the argument otherwise."""
    if not isinstance(type_, ShapedType):
        return value
    array = np.asarray(value)
    element = cast(Any, type_).element_type
    expected, shape = element_name(element), tuple(type_.get_shape())
    if array.shape != shape or from_numpy(array.dtype) != expected:
        raise InputError(
            f"argument {name} does not fit",
            why=f"it must be {expected}{list(shape)}, got {array.dtype}{list(array.shape)}",
        )
    return array


class _Compiler:
    """Compiles blocks into one scope."""

    def __init__(self, scope: Scope, observe: Observe | None) -> None:
        self._scope = scope
        self._observe = observe

    def block(self, block: Block) -> Code:
        """Compile a block and what is nested in it."""
        scope = self._scope
        arguments = tuple([scope.define(argument) for argument in block.args])
        steps: list[RunStep] = []
        ops: list[Operation] = []
        results: tuple[int, ...] = ()
        for op in block.ops:
            if op.has_trait(IsTerminator, value_if_unregistered=False):
                _refuse_branch(op)
                results = tuple([scope.use(operand) for operand in op.operands])
                continue
            made = [self._step(op), *self._observers(op)]
            steps += made
            ops += [op] * len(made)
        code = scope.codes[block] = Code(arguments, tuple(steps), tuple(ops), results)
        return code

    def _step(self, op: Operation) -> RunStep:
        ins = tuple([self._scope.use(operand) for operand in op.operands])
        control = _CONTROL.get(op.name)
        if control is not None:
            return control(self, op, ins)
        if isinstance(op, EffectOp):
            self._nested(op)
            self._define(op)
            return lambda slots: op.run(slots[0])
        outs = self._define(op)
        if isinstance(op, NpucOp):
            return _call_step(op.evaluate, ins, outs)
        factory = ELEMENTWISE.get(op.name)
        if factory is None:
            raise ExecutionError(
                f"`{op.name}` cannot be run",
                where=where(op),
                why="it is neither an op of npuc nor one of the upstream ops with a meaning here",
            )
        return _value_step(factory(op), ins, outs[0])

    def _define(self, op: Operation) -> tuple[int, ...]:
        return tuple([self._scope.define(result) for result in op.results])

    def _nested(self, op: Operation) -> None:
        """Compile the regions of an op that see the values around them."""
        if not op.has_trait(IsolatedFromAbove):
            for region in op.regions:
                for block in region.blocks:
                    self.block(block)

    def _observers(self, op: Operation) -> list[RunStep]:
        if self._observe is None:
            return []
        return [
            _observe_step(self._observe, origin, self._scope.slots[result])
            for result in op.results
            for origin in origins_of(result)
        ]

    def for_loop(self, op: Operation, ins: tuple[int, ...]) -> RunStep:
        """`scf.for`: lower bound, upper bound, step, then the carried values."""
        lower, upper, stride, *inits = ins
        body = self.block(op.regions[0].block)
        outs = self._define(op)

        def step(slots: Slots) -> None:
            carried = tuple([slots[i] for i in inits])
            for iteration in range(int(slots[lower]), int(slots[upper]), int(slots[stride])):
                carried = body.run(slots, (iteration, *carried))
            for slot, value in zip(outs, carried, strict=True):
                slots[slot] = value

        return step

    def branch(self, op: Operation, ins: tuple[int, ...]) -> RunStep:
        """`scf.if`: a condition and one or two regions."""
        codes = [self.block(region.block) if region.blocks else None for region in op.regions]
        outs = self._define(op)

        def step(slots: Slots) -> None:
            code = codes[0 if slots[ins[0]] else 1]
            values = () if code is None else code.run(slots, ())
            for slot, value in zip(outs, values, strict=True):
                slots[slot] = value

        return step

    def call(self, op: Operation, ins: tuple[int, ...]) -> RunStep:
        """`func.call`: the body of another function in a frame of its own."""
        callee = cast(Any, op.properties["callee"]).string_value()
        outs = self._define(op)

        def step(slots: Slots) -> None:
            frame = slots[0]
            if frame is None:
                raise InternalError("a body that is evaluated on its own calls a function")
            values = frame.call(callee, [slots[i] for i in ins])
            for slot, value in zip(outs, values, strict=True):
                slots[slot] = value

        return step


def _refuse_branch(op: Operation) -> None:
    if op.successors:
        raise ExecutionError(
            f"`{op.name}` cannot be run",
            where=where(op),
            why="it branches to another block; control flow is structured here, by scf",
        )


_CONTROL: dict[str, Callable[[_Compiler, Operation, tuple[int, ...]], RunStep]] = {
    "scf.for": _Compiler.for_loop,
    "scf.if": _Compiler.branch,
    "func.call": _Compiler.call,
}


def _call_step(
    function: Callable[..., Sequence[Any]], ins: tuple[int, ...], outs: tuple[int, ...]
) -> RunStep:
    def step(slots: Slots) -> None:
        for slot, value in zip(outs, function(*[slots[i] for i in ins]), strict=True):
            slots[slot] = value

    return step


def _value_step(function: Callable[..., Any], ins: tuple[int, ...], out: int) -> RunStep:
    if len(ins) == 1:
        (only,) = ins

        def unary(slots: Slots) -> None:
            slots[out] = function(slots[only])

        return unary
    if len(ins) == 2:
        left, right = ins

        def binary(slots: Slots) -> None:
            slots[out] = function(slots[left], slots[right])

        return binary

    def step(slots: Slots) -> None:
        slots[out] = function(*[slots[i] for i in ins])

    return step


def _observe_step(observe: Observe, origin: OriginAttr, slot: int) -> RunStep:
    return lambda slots: observe(origin, slots[slot])
