"""What `doctor` says of `[contracts]`: what is named there, and whether the tools are there that look at it."""

import shutil
from collections.abc import Iterator

from damascus.domain.check import Check
from damascus.domain.config import ContractsConfig
from damascus.gates.contracts.needs import missing
from damascus.gates.contracts.oasdiff import installed
from damascus.system.installing import install


def examine(config: ContractsConfig) -> Iterator[Check]:
    """Nothing to say where no contract is named."""
    if not config.paths:
        return
    named = ", ".join(
        f"{key} ({len(getattr(config, key))})" for key in ("openapi", "schemas", "zod") if getattr(config, key)
    )
    wanted = {key for key in ("openapi", "schemas", "serve") if getattr(config, key)}
    lacking = missing(wanted)
    if lacking:
        yield Check(
            "contracts", "fail",
            f"{named}: {', '.join(lacking)} is not installed, so no story that touches one passes. "
            f"Install it: {install('contracts')}",
        )  # fmt: skip
        return
    if config.zod and shutil.which("node") is None:
        yield Check("contracts", "fail", f"{named}: node is not on the PATH, and Zod schemas need it. Install it.")
        return
    yield Check("contracts", "ok", "; ".join([named, *_what_is_checked(config)]))


def _what_is_checked(config: ContractsConfig) -> Iterator[str]:
    if config.openapi:
        found = installed()
        yield f"breaking changes by {found}" if found else "breaking changes by our own rules, oasdiff is not installed"
        yield f"asked: {config.serve}" if config.serve else "no serve, so no server is asked, and every receipt says so"
    if (config.schemas or config.zod) and not config.samples:
        yield "no samples are named"
    if config.stable:
        yield f"stable: {', '.join(config.stable)}"
