"""The command `npu-opt`: run passes on IR, or take it to a stage."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import version


def main(argv: Sequence[str] | None = None) -> int:
    """Run `npu-opt` with arguments (those of the process by default); the exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    if "--version" in arguments:
        # Answered here, as everything else imports xDSL.
        print(f"npu-opt {version('npuc')} (xDSL {version('xdsl')})")
        return 0
    from ..compiler import opt

    return opt.main(arguments)


if __name__ == "__main__":
    sys.exit(main())
