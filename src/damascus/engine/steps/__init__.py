"""One file per step of a phase's script (engine/phases/*.py says in which order)."""
