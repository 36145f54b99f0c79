"""Collect `test/filecheck/**/*.mlir` as pytest items, one a file, run in process.

Property tests draw the same examples in every run, so that a test run means the same everywhere;
`HYPOTHESIS_PROFILE=random` draws new ones.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings

from run_lines import RunLineError, run_file

settings.register_profile("fixed", derandomize=True)
settings.register_profile("random", derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

FILECHECK = Path(__file__).parent / "filecheck"


class RunLinesItem(pytest.Item):
    """The RUN lines of one file."""

    def runtest(self) -> None:
        """Run them; `%t` lives in a folder that goes away."""
        with TemporaryDirectory() as scratch:
            run_file(self.path, Path(scratch))

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None
    ) -> str:
        """Show a failed command by its messages, and a crash by its traceback."""
        if isinstance(excinfo.value, RunLineError):
            return str(excinfo.value)
        return str(excinfo.getrepr())

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Name the item by its file."""
        return self.path, None, str(self.path.relative_to(FILECHECK))


class RunLinesFile(pytest.File):
    """One lit file."""

    def collect(self) -> Iterator[RunLinesItem]:
        """One item: the RUN lines share `%t`, so they belong together."""
        yield RunLinesItem.from_parent(self, name="RUN")  # pyright: ignore[reportUnknownMemberType]


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> RunLinesFile | None:
    """Take every .mlir file below filecheck/ that is not an input of another one."""
    below = FILECHECK in file_path.parents and "Inputs" not in file_path.parts
    if below and file_path.suffix == ".mlir":
        return RunLinesFile.from_parent(parent, path=file_path)  # pyright: ignore[reportUnknownMemberType]
    return None
