"""The command `npu-translate`: between models, IR as text, assembly text and program files."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ..compiler.command_line import run_guarded


def main(argv: Sequence[str] | None = None) -> int:
    """Run `npu-translate` with arguments (those of the process by default); the exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    # The imports take long enough to be interrupted.
    return run_guarded("npu-translate", lambda: _run(arguments), debug="--debug" in arguments)


def _run(arguments: Sequence[str]) -> int:
    from ..compiler import translate

    return translate.main(arguments)


if __name__ == "__main__":
    sys.exit(main())
