"""Reading a model file into ONNX's messages, and saying plainly when that is not possible."""

import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, cast

from ....dialects.core.errors import InputError
from . import messages, wire

# How other files that people mistake for ONNX begin.
_OTHER_FORMATS = (
    (b"PK\x03\x04", "it is a zip archive, as PyTorch and Keras write them"),
    (b"\x89HDF", "it is an HDF5 file, as Keras writes them"),
    (b"\x80\x02", "it is a Python pickle"),
    (b"\x80\x04", "it is a Python pickle"),
    (b"version https://git-lfs", "it is a Git LFS pointer (run `git lfs pull`)"),
    (b"ML\xefR", "it is MLIR bytecode"),
    (b"{", "it is JSON text"),
    (b"<", "it is text (HTML or XML)"),
)


class Source(NamedTuple):
    """A model with where it came from: `path` and `ranges` only for one read from a file."""

    model: messages.Model
    path: Path | None
    ranges: wire.Ranges

    @property
    def name(self) -> str:
        """What to call the model in messages."""
        return str(self.path) if self.path else "the given model"


def read_model(source: object) -> Source:
    """The model in `source`: a path, serialised bytes, or an `onnx.ModelProto`.

    `InputError` says what is wrong with anything else, with unreadable and truncated files, and
    with files of other formats.
    """
    require_onnx()
    import onnx

    nowhere = wire.Ranges([], {})
    if isinstance(source, onnx.ModelProto):
        return _checked(Source(cast(messages.Model, source), None, nowhere))
    if isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(cast(bytes, source))
        return _checked(Source(_parse(data, "the given bytes"), None, nowhere))
    if isinstance(source, (str, os.PathLike)):
        path = Path(cast(str, source))
        data = _read_bytes(path)
        model = _parse(data, str(path))
        return _checked(Source(model, path.resolve(), wire.data_ranges(data)))
    raise InputError(
        f"a model cannot be read from a `{type(source).__name__}`",
        hint="give a path, the bytes of an ONNX file, or an onnx.ModelProto",
    )


def require_onnx() -> None:
    """`InputError` if the package `onnx` is not there to be imported."""
    try:
        import_module("onnx")
    except ImportError as error:
        raise InputError(
            "reading an ONNX model needs the package `onnx`",
            why=str(error),
            hint="pip install npuc[onnx]",
        ) from error


def _read_bytes(path: Path) -> bytes:
    """The bytes of the file; `InputError` if there is no readable file."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(
            f"the model file `{path}` cannot be read",
            why=error.strerror or str(error),
            hint="give the path of a file that is there and may be read",
        ) from error


def _parse(data: bytes, name: str) -> messages.Model:
    """The message in `data`; `InputError` with the best guess of what the data is instead."""
    import onnx
    from google.protobuf.message import DecodeError

    model = cast(messages.Model, onnx.ModelProto())
    try:
        model.ParseFromString(data)
    except DecodeError as error:
        raise InputError(
            f"{name} cannot be read as an ONNX model", why=_diagnosis(data), hint=_REWRITE
        ) from error
    if not model.ir_version:  # protobuf reads many a short file as an empty message
        raise InputError(
            f"{name} cannot be read as an ONNX model", why=_diagnosis(data), hint=_REWRITE
        )
    return model


_REWRITE = "export or download the model again; `onnx.checker.check_model` must accept it"


def _diagnosis(data: bytes) -> str:
    """Why `data` is not an ONNX model."""
    if not data:
        return "it is empty"
    for magic, meaning in _OTHER_FORMATS:
        if data.startswith(magic):
            return meaning
    if wire.ends_early(data):
        return f"it is truncated: its {len(data)} bytes end in the middle of a field"
    return f"its {len(data)} bytes do not begin as a model does"


def _checked(source: Source) -> Source:
    """`source` if its message has what every model has; a truncated file may lack it."""
    model = source.model
    parts = (
        ("an IR version", model.ir_version),
        ("a graph", model.HasField("graph")),
        ("outputs", model.graph.output),
    )
    missing = [name for name, there in parts if not there]
    if missing:
        raise InputError(
            f"{source.name} is not a complete ONNX model",
            why=f"it does not have {missing[0]}",
            hint=_REWRITE,
        )
    # protobuf hands out a text that is not UTF-8 as bytes, but does not take it back.
    if not all(isinstance(text, str) for text in _texts(model)):
        raise InputError(
            f"{source.name} is damaged", why="a name in it is not UTF-8 text", hint=_REWRITE
        )
    return source


def _texts(model: messages.Model) -> Iterator[object]:
    """All names in the model that the importer reads."""
    graph = model.graph
    yield from (entry.domain for entry in model.opset_import)
    for value in (*graph.input, *graph.output, *graph.value_info):
        yield value.name
        yield from (dimension.dim_param for dimension in value.type.tensor_type.shape.dim)
    yield from (tensor.name for tensor in graph.initializer)
    for node in graph.node:
        yield from (node.name, node.op_type, node.domain, *node.input, *node.output)
        yield from (attribute.name for attribute in node.attribute)
