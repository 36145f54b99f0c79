"""The machine in software: exact values, cycles and checks."""
