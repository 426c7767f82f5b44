"""What one look at the contracts found; each check adds its part."""

from dataclasses import dataclass, field

from damascus.domain.ports import Evidence, Finding, GateName
from damascus.domain.verdict import Verdict


@dataclass
class LookAtContracts:
    findings: list[Finding] = field(default_factory=list)
    saw: list[str] = field(default_factory=list)
    """What was checked, contract by contract: the gate's evidence."""
    runs: list[Evidence] = field(default_factory=list)
    """Of commands that were run."""
    unverified: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def refuse(self, message: str, path: str, output: str = "") -> None:
        self.findings.append(
            Finding(
                gate=GateName.CONTRACTS, verdict=Verdict.CONTRACT_BROKEN, message=message, paths=[path], output=output
            )
        )
        self.saw.append(f"{path}: refused")

    def not_checked(self, path: str, why: str) -> None:
        self.unverified.append(f"contracts: {path}: {why}")
