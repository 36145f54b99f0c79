"""Make `.typings/npuc`, a folder of links through which type checkers and editors resolve `npuc.*`.

The folders lie side by side in the repository and install under one name; checkers do not read that
mapping. Run it once after a clone (`make` does); the links are ignored by git.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINKS = ROOT / ".typings" / "npuc"

LINKS.mkdir(parents=True, exist_ok=True)
for target in (
    "npuc/__init__.py",
    "npuc/py.typed",
    "compiler",
    "dialects",
    "passes",
    "backend",
    "tools",
):
    link = LINKS / Path(target).name
    if not link.is_symlink():
        link.symlink_to(Path("../..") / target)
