"""The list of packages; everything else is in pyproject.toml."""

from setuptools import find_packages, setup

ROOTS = ["compiler", "dialects", "passes", "backend", "tools"]

setup(
    packages=[
        "npuc",
        *(
            f"npuc.{package}"
            for package in find_packages(
                ".", include=[pattern for root in ROOTS for pattern in (root, f"{root}.*")]
            )
        ),
    ]
)
