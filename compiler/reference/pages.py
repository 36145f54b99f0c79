"""The pages of the manual by file name."""

from __future__ import annotations

from .isa import isa_page
from .machines import machines_page

HEADING = """\
<!-- Written by `make docs` from {source}; a test fails while it differs. Do not edit. -->
"""


def pages() -> dict[str, str]:
    """Text of each page by file name, the same for the same sources."""
    return {
        "isa.md": HEADING.format(source="dialects/npu_isa/instructions") + isa_page(),
        "machines.md": HEADING.format(source="dialects/target/machines") + machines_page(),
    }
