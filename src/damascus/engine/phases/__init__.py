"""One page per phase: every step in order."""
