"""Keeps the disk free: what is older than [retention] says goes (retention.py), and the stores are packed."""

from damascus.engine.maintenance.retention import apply_retention
from damascus.engine.tools import Tools

MANY_LOOSE = 40
"""Of 256 folders of loose objects one is counted: 40 there are about 10,000 in all."""


def prune(tools: Tools) -> None:
    apply_retention(tools)
    places = (tools.mirror.path, tools.mirror.store)
    if any(len(list((place / "objects" / "17").glob("*"))) > MANY_LOOSE for place in places):
        tools.mirror.gc()
