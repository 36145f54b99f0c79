"""CPU time to start: `import npuc` and `npu-opt --version`, beside a bare interpreter.

Prints the median of a few runs in milliseconds of CPU time (user and system), and the ratio to the
bare interpreter. Host times are reported, never asserted.

Run: `python benchmarks/startup.py`
"""

import resource
import statistics
import subprocess
import sys

RUNS = 7
COMMANDS = {
    "python": ["-c", "pass"],
    "import npuc": ["-c", "import npuc"],
    "import xdsl.ir": ["-c", "import xdsl.ir"],
    "npu-opt --version": ["-m", "npuc.tools.npu_opt", "--version"],
}


def cpu_seconds(arguments: list[str]) -> float:
    """CPU time of one fresh interpreter with these arguments; it must succeed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print one line a command."""
    bare = 0.0
    for name, arguments in COMMANDS.items():
        seconds = statistics.median(cpu_seconds(arguments) for _ in range(RUNS))
        bare = bare or seconds
        print(f"{name:20} {seconds * 1000:7.1f} ms  {seconds / bare:6.1f} x")


if __name__ == "__main__":
    main()
