"""Forges: where branches, pull requests, CI and main live. A new one is one file here, one line in this dict and
one line in tests/contracts/test_forges.py."""

from damascus.forges.local import LocalForge

FORGES = {"local": LocalForge}
