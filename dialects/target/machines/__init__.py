"""The machines that come with npuc, one TOML file each."""

DEFAULT = "ascend310p"
"""The machine for which npuc compiles unless told otherwise."""
