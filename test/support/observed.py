"""Runs that the tests of profiles and explanations look at."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from onnx import ModelProto

from npuc.backend.emulator.emulator import Emulator
from npuc.compiler.arrays import random_arrays
from npuc.compiler.observation import Observation, observe
from npuc.compiler.progress import say_nothing
from npuc.compiler.request import Request, by_name
from onnx_models import model, node, random
from source_tree import ROOT

DIGITS = ROOT / "examples/digits/digits_mlp.onnx"


@cache
def digits(target: str) -> Observation:
    """The digits network with a trace."""
    return observe(Request(str(DIGITS), target=target), say_nothing, trace=True)


def cut(observation: Observation, limit: int) -> Observation:
    """The same run, with at most `limit` instructions in its trace."""
    ports = observation.lowered.inputs
    emulator = Emulator(observation.program, trace=True, trace_limit=limit)
    return replace(observation, result=emulator.run(by_name(ports, random_arrays(ports))))


def mixed_engines() -> ModelProto:
    """An integer product for the host beside a float one; a shape that costs nothing."""
    nodes = [
        node("MatMul", ["a", "w"], ["c"], name="integers"),
        node("MatMul", ["x", "v"], ["z"], name="floats"),
        node("Reshape", ["z", "shape"], ["y"], name="flat"),
    ]
    return model(
        nodes,
        {"a": random(0, 3, 5, dtype="int32"), "x": (6, 8)},
        ["c", "y"],
        constants={
            "w": random(1, 5, 7, dtype="int32"),
            "v": random(2, 8, 4),
            "shape": np.array([24], np.int64),
        },
    )


def save(source: ModelProto, folder: Path) -> Path:
    """The model as a file."""
    path = folder / "model.onnx"
    path.write_bytes(source.SerializeToString())
    return path
