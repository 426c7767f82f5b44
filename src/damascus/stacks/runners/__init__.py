"""Programs that stand between a Test Command and a known runner, so that the runner reports each test to us.

Nothing here imports Damascus: the files are copied into a folder that the sandbox shows read-only (kit.py), and run
there by the worker's Python, alone (`-I -S`), or by the project's own node.
"""
