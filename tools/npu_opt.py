"""The command `npu-opt`: run passes on IR, or take it to a stage."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import version

from ..compiler.command_line import run_guarded, standard_output


def main(argv: Sequence[str] | None = None) -> int:
    """Run `npu-opt` with arguments (those of the process by default); the exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    if "--version" in arguments:
        # Answered here, as everything else imports xDSL.
        return run_guarded("npu-opt", _print_version)
    # The imports take long enough to be interrupted.
    return run_guarded("npu-opt", lambda: _run(arguments), debug="--debug" in arguments)


def _run(arguments: Sequence[str]) -> int:
    from ..compiler import opt

    return opt.main(arguments)


def _print_version() -> int:
    with standard_output() as out:
        print(f"npu-opt {version('npuc')} (xDSL {version('xdsl')})", file=out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
