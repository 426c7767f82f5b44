"""Secrets in what agents write: their shapes, the process that looks for them, and the line to it."""
