"""The subcommands of `npuc`, one module each: `add` makes the parser and names the work."""
