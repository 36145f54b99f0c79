"""Write the manual into a folder: `python -m npuc.compiler.reference docs/reference`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ...dialects.core.files import write_whole
from .pages import pages


def main() -> None:
    """Write every page into the folder named on the command line."""
    parser = argparse.ArgumentParser(description="Write the manual of instructions and machines.")
    parser.add_argument("folder", type=Path, help="where isa.md and machines.md go")
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        write_whole(folder / name, lambda file, text=text: file.write(text.encode()))


if __name__ == "__main__":
    main()
