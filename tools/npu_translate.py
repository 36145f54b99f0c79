"""The command `npu-translate`: between models, IR as text, assembly text and program files."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ..compiler import translate


def main(argv: Sequence[str] | None = None) -> int:
    """Run `npu-translate` with arguments (those of the process by default); the exit code."""
    return translate.main(argv)


if __name__ == "__main__":
    sys.exit(main())
