"""Receipts for others: in-toto statements in a file, signed with the installation's key."""

from pathlib import Path

from damascus import stacks
from damascus.domain.config import Config
from damascus.domain.ids import Sha
from damascus.domain.receipt import BuildReceipt
from damascus.domain.statements import PAYLOAD, line_of, payload_of, statements
from damascus.git.mirror import Mirror
from damascus.system.signing import signed


def exported(receipt: BuildReceipt, mirror: Mirror, config: Config, home: Path) -> bytes:
    """One line for each statement."""
    proof = receipt.proof
    blobs = blobs_of_tests(mirror, config, Sha(proof.base), Sha(proof.commit))
    payloads = [payload_of(one) for one in statements(receipt, blobs)]
    return b"".join(line_of(payload, signed(home, PAYLOAD, payload)) for payload in payloads)


def blobs_of_tests(mirror: Mirror, config: Config, base: Sha, commit: Sha) -> dict[str, str]:
    """The story's test files at its commit, by path."""
    files = mirror.listing(commit).files
    changed = [file.path for file in mirror.changed(base, commit) if file.path in files]
    return {path: files[path].sha for path in changed if stacks.is_test(path, config.test.patterns)}
