"""The driver: pipeline table, options, frontends and reports; rewrites no IR itself."""
