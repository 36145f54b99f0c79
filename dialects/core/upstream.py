"""What the upstream `arith` and `math` ops mean here: functions on arrays and scalars alike.

The arithmetic is that of `kernels`, so f32 stays f32 and 16-bit floats are rounded once. `index`
values are Python ints (or i64 arrays), `i1` is a bool.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    TensorType,
)
from xdsl.ir import Attribute, Operation

from .attributes import element_name
from .dtypes import Array, to_numpy
from .errors import ExecutionError
from .kernels import elementwise as ew
from .kernels.cast import cast as convert

Function: TypeAlias = Callable[..., Any]
Factory: TypeAlias = Callable[[Operation], Function]


def _always(function: Function) -> Factory:
    return lambda op: function


def _on_integers(index: Function, fixed: Function) -> Factory:
    """`index` for Python ints and i64 arrays of type `index`, `fixed` for the wrapping integers."""
    return lambda op: index if isinstance(op.results[0].type, IndexType) else fixed


def _wide(function: Callable[[Array, Array], Array]) -> Function:
    """A kernel on `index` values: Python ints give a Python int."""

    def apply(a: Any, b: Any) -> Any:
        result = function(np.asarray(a, np.int64), np.asarray(b, np.int64))
        return int(result) if isinstance(a, int) and isinstance(b, int) else result

    return apply


def _element(type_: Attribute) -> str:
    """The name of a scalar type, or of the elements of a tensor."""
    shaped = isinstance(type_, TensorType)
    return element_name(cast(TensorType[Attribute], type_).element_type if shaped else type_)


def constant_value(attribute: Attribute) -> Any:
    """The value of an `arith.constant`: a Python int for index, a numpy scalar, or an array."""
    if isinstance(attribute, IntegerAttr):
        number = cast(IntegerAttr[IntegerType | IndexType], attribute)
        if isinstance(number.type, IndexType):
            return number.value.data
        return np.asarray(number.value.data).astype(to_numpy(_element(number.type)))[()]
    if isinstance(attribute, FloatAttr):
        real = cast(FloatAttr[AnyFloat], attribute)
        return to_numpy(_element(real.type)).type(real.value.data)
    if isinstance(attribute, DenseIntOrFPElementsAttr):
        dtype = to_numpy(_element(cast(Attribute, attribute.type)))
        return np.frombuffer(attribute.data.data, dtype).reshape(attribute.get_shape())
    raise ExecutionError(f"constant `{attribute}` cannot be run")


def _constant(op: Operation) -> Function:
    value = constant_value(op.properties["value"])
    return lambda: value


def _convert(op: Operation) -> Function:
    dtype = _element(op.results[0].type)

    def apply(x: Any) -> Any:
        return convert(x, dtype)

    return apply


def _truncate(op: Operation) -> Function:
    dtype = _element(op.results[0].type)

    def apply(x: Any) -> Any:
        return convert(x, dtype, "zero")

    return apply


def _wrap(op: Operation) -> Function:
    dtype = to_numpy(_element(op.results[0].type))

    def apply(x: Any) -> Any:
        return x.astype(dtype)

    return apply


def _signed(x: Any) -> Any:
    """A bool as the one-bit signed integer it is: true is -1."""
    return -x.astype(np.int8) if x.dtype.kind == "b" else x


def _unsigned(x: Any) -> Any:
    """The bits of a signed integer as an unsigned one."""
    if isinstance(x, int):
        return x % (1 << 64)
    return x.astype(np.dtype(f"u{x.dtype.itemsize}")) if x.dtype.kind == "i" else x


def _from_signed(op: Operation) -> Function:
    dtype = _element(op.results[0].type)

    def apply(x: Any) -> Any:
        return convert(_signed(x), dtype)

    return apply


def _from_unsigned(op: Operation) -> Function:
    dtype = to_numpy(_element(op.results[0].type))

    def apply(x: Any) -> Any:
        return _unsigned(x).astype(np.float64).astype(dtype)

    return apply


def _extend_signed(op: Operation) -> Function:
    dtype = to_numpy(_element(op.results[0].type))

    def apply(x: Any) -> Any:
        return _signed(x).astype(dtype)

    return apply


def _extend_unsigned(op: Operation) -> Function:
    dtype = to_numpy(_element(op.results[0].type))

    def apply(x: Any) -> Any:
        return _unsigned(x).astype(dtype)

    return apply


def _to_index(x: Any) -> Any:
    return int(x) if np.ndim(x) == 0 else x.astype(np.int64)


def _index_cast(op: Operation) -> Function:
    target = op.results[0].type
    if isinstance(target, IndexType):
        return _to_index
    dtype = to_numpy(_element(target))

    def apply(x: Any) -> Any:
        return np.asarray(x).astype(dtype)[()]

    return apply


def _select(condition: Any, true: Any, false: Any) -> Any:
    if np.ndim(condition):
        return cast(Any, np.where(condition, true, false))
    return true if condition else false


def _on_unsigned(function: Function) -> Function:
    def apply(a: Any, b: Any) -> Any:
        return function(_unsigned(a), _unsigned(b))

    return apply


def _unordered(a: Any, b: Any) -> Any:
    return np.isnan(a) | np.isnan(b)


def _ordered(a: Any, b: Any) -> Any:
    return ~_unordered(a, b)


def _or_unordered(function: Function) -> Function:
    def apply(a: Any, b: Any) -> Any:
        return function(a, b) | _unordered(a, b)

    return apply


def _ordered_and_different(a: Any, b: Any) -> Any:
    return np.not_equal(a, b) & _ordered(a, b)


def _everywhere(truth: bool) -> Function:
    def apply(a: Any, b: Any) -> Any:
        return np.full(np.broadcast(a, b).shape, truth)[()]

    return apply


# The predicates of arith.cmpi and arith.cmpf in the order of their numbers.
_CMPI: tuple[Function, ...] = (
    *(np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal),
    *map(_on_unsigned, (np.less, np.less_equal, np.greater, np.greater_equal)),
)
_CMPF: tuple[Function, ...] = (
    _everywhere(False),
    *(np.equal, np.greater, np.greater_equal, np.less, np.less_equal),
    *(_ordered_and_different, _ordered),
    *map(_or_unordered, (np.equal, np.greater, np.greater_equal, np.less, np.less_equal)),
    *(np.not_equal, _unordered, _everywhere(True)),
)


def _compare(table: tuple[Function, ...]) -> Factory:
    return lambda op: table[cast(IntegerAttr[Any], op.properties["predicate"]).value.data]


_KERNELS: dict[str, Function] = {
    "arith.addf": ew.add,
    "arith.subf": ew.sub,
    "arith.mulf": ew.mul,
    "arith.divf": ew.div,
    "arith.maximumf": ew.maximum,
    "arith.minimumf": ew.minimum,
    "arith.negf": ew.neg,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
    "arith.select": _select,
    "math.exp": ew.exp,
    "math.log": ew.ln,
    "math.sqrt": ew.sqrt,
    "math.rsqrt": ew.rsqrt,
    "math.tanh": ew.tanh,
    "math.erf": ew.erf,
    "math.absf": ew.absolute,
    "math.absi": ew.absolute,
    "math.powf": ew.power,
}

ELEMENTWISE: dict[str, Factory] = {
    **{name: _always(function) for name, function in _KERNELS.items()},
    "arith.constant": _constant,
    "arith.addi": _on_integers(operator.add, ew.add),
    "arith.subi": _on_integers(operator.sub, ew.sub),
    "arith.muli": _on_integers(operator.mul, ew.mul),
    "arith.divsi": _on_integers(_wide(ew.div), ew.div),
    "arith.remsi": _on_integers(_wide(ew.rem), ew.rem),
    "arith.floordivsi": _on_integers(_wide(ew.floor_div), ew.floor_div),
    "arith.ceildivsi": _on_integers(_wide(ew.ceil_div), ew.ceil_div),
    "arith.minsi": _on_integers(_wide(ew.minimum), ew.minimum),
    "arith.maxsi": _on_integers(_wide(ew.maximum), ew.maximum),
    "arith.cmpi": _compare(_CMPI),
    "arith.cmpf": _compare(_CMPF),
    "arith.extf": _convert,
    "arith.truncf": _convert,
    "arith.sitofp": _from_signed,
    "arith.uitofp": _from_unsigned,
    "arith.fptosi": _truncate,
    "arith.extsi": _extend_signed,
    "arith.extui": _extend_unsigned,
    "arith.trunci": _wrap,
    "arith.index_cast": _index_cast,
}
"""For each op name, a function from the op to the function of its operands' values."""
