"""Contracts of a project, read and compared: pure, and run in a process of its own on agents' bytes (wire.py). Nothing
here opens a file or a connection."""
