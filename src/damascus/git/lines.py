"""Which lines of a file a change brought."""

import pygit2


def added_lines(old: bytes, new: bytes) -> set[int]:
    """Of the new text, counted from 1: what git's own diff calls added."""
    patch = pygit2.Patch.create_from(old, new, context_lines=0)
    return {line.new_lineno for hunk in patch.hunks for line in hunk.lines if line.origin in "+>"}
