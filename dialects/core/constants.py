"""Constants as arrays and arrays as constants: what passes that compute with weights need."""

from __future__ import annotations

from xdsl.ir import SSAValue

from .attributes import BlobAttr, DenseAttr, tensor_of
from .dtypes import Array, from_numpy, is_float
from .ops import INLINE_BYTES, ConstantOp, WeightOp, blob_request
from .store import MEMORY, Store


def is_plain(array: Array) -> bool:
    """Whether a small constant should stand in the text, for passes to look at.

    So are integers, and floats that are all equal.
    """
    if array.nbytes > INLINE_BYTES:
        return False
    return not is_float(from_numpy(array.dtype)) or array.size < 2 or DenseAttr.of(array).is_splat()


def constant_op(array: Array, store: Store) -> ConstantOp | WeightOp:
    """The constant equal to `array`: in the text if it is plain, else a weight held by `store`."""
    if is_plain(array):
        return ConstantOp.of(array)
    stored = tensor_of(from_numpy(array.dtype), array.shape)
    return WeightOp(BlobAttr.of(stored, store.add(array), MEMORY))


def constant_array(value: SSAValue, store: Store) -> Array | None:
    """The elements of a value that is a constant or a weight, else None.

    `InputError` if the bytes of the weight are not there.
    """
    owner = value.owner
    if isinstance(owner, ConstantOp):
        return owner.value.array()
    return store.read(*blob_request(owner.blob)) if isinstance(owner, WeightOp) else None
