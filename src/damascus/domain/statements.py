"""A receipt as in-toto statements: what others' tools read of it, and ours in full.

Two test results (red at the base, green at the head), one verification summary by the rules of main, and the receipt as
a predicate of its own. Written as one line each (`.intoto.jsonl`), in DSSE envelopes.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from damascus.domain.receipt import BuildReceipt
from damascus.domain.receipt_note import Signature

TYPE = "https://in-toto.io/Statement/v1"
TEST_RESULT = "https://in-toto.io/attestation/test-result/v0.1"
SUMMARY = "https://in-toto.io/attestation/svr/v0.2"
RECEIPT = "https://damascus.invalid/build-receipt/v1"
"""Not an address: a name that nobody else has."""
PAYLOAD = "application/vnd.in-toto+json"
VERIFIER = "damascus"
NO_STATEMENT = "no in-toto statement in a DSSE envelope"


def statements(receipt: BuildReceipt, test_blobs: Mapping[str, str]) -> list[dict[str, Any]]:
    """`test_blobs` are the story's test files at the head, by path: with them the base was red."""
    proof = receipt.proof
    head = {"name": proof.story, "digest": {"gitCommit": proof.commit}}
    base = {"name": proof.story, "digest": {"gitCommit": proof.red_base or proof.base}}
    blobs = [{"name": path, "digest": {"gitBlob": blob}} for path, blob in sorted(test_blobs.items())]
    policy = [{"name": proof.policy.file, "digest": {"gitBlob": proof.policy.blob}}] if proof.policy.blob else []
    red = {"result": "FAILED", "configuration": policy, "passedTests": [], "warnedTests": []}
    green = {"result": _result(receipt), "configuration": policy, "passedTests": proof.green_tests, "warnedTests": []}
    svr = {
        "verifier": {"id": VERIFIER, "policies": policy},
        "timeCreated": receipt.timestamp,
        "properties": properties(receipt),
    }
    return [
        _statement([base, *blobs], TEST_RESULT, {**red, "failedTests": proof.red_tests}),
        _statement([head], TEST_RESULT, {**green, "failedTests": []}),
        _statement([head], SUMMARY, svr),
        _statement([head], RECEIPT, receipt.model_dump(mode="json")),
    ]


def _result(receipt: BuildReceipt) -> str:
    return "PASSED" if not receipt.tests.failed and all(one.passed for one in receipt.proof.gates) else "FAILED"


def properties(receipt: BuildReceipt) -> list[str]:
    """What holds, and only that."""
    gates = {one.gate for one in receipt.proof.gates if one.passed and not one.unverified}
    found = [f"DAMASCUS_GATE_{name.upper()}" for name in sorted(gates)]
    found += ["DAMASCUS_RED_GREEN"] if receipt.proof.red_tests and {"red", "tests"} <= gates else []
    found += ["DAMASCUS_TESTS_VERIFIED"] if receipt.tests.status == "VERIFIED" else []
    found += ["DAMASCUS_CODE_VERIFIED"] if receipt.code.status == "VERIFIED" else []
    return [*found, *(["DAMASCUS_VERIFIED"] if receipt.status == "VERIFIED" else [])]


def _statement(subject: Sequence[dict[str, Any]], kind: str, predicate: dict[str, Any]) -> dict[str, Any]:
    return {"_type": TYPE, "subject": list(subject), "predicateType": kind, "predicate": predicate}


# ── envelopes ─────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Envelope:
    """One line of a bundle."""

    payload: bytes
    signature: Signature | None
    statement: dict[str, Any]


@dataclass(frozen=True)
class ReadBundle:
    """What a file of statements holds, and what is wrong with it. `foreign`: not a line of it is a statement."""

    receipt: BuildReceipt | None
    envelopes: tuple[Envelope, ...] = ()
    problems: tuple[str, ...] = ()
    foreign: bool = False


def payload_of(statement: Mapping[str, Any]) -> bytes:
    return json.dumps(statement, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def line_of(payload: bytes, signature: Signature | None) -> bytes:
    signatures = [{"keyid": signature.keyid, "sig": signature.sig}] if signature else []
    told = {"payload": base64.b64encode(payload).decode(), "payloadType": PAYLOAD, "signatures": signatures}
    return json.dumps(told, sort_keys=True).encode() + b"\n"


def read_bundle(data: bytes) -> ReadBundle:
    """Whatever it is. A statement that is no line of ours is named by its number."""
    read = [(line, _read_line(line)) for line in data.splitlines()]
    envelopes = [one for line, one in read if one and _is_ours(line, one)]
    problems = [
        f"statement {number} can't be read: it is {'not written as we write it' if one else NO_STATEMENT}"
        for number, (_, one) in enumerate(read, 1)
        if one not in envelopes
    ]
    if not any(one for _, one in read):
        return ReadBundle(None, problems=tuple(problems), foreign=True)
    receipts = [one.statement.get("predicate") for one in envelopes if one.statement.get("predicateType") == RECEIPT]
    if len(receipts) != 1:
        return ReadBundle(None, tuple(envelopes), (*problems, f"the file has {len(receipts)} receipts instead of one"))
    try:
        return ReadBundle(BuildReceipt.model_validate(receipts[0]), tuple(envelopes), tuple(problems))
    except ValidationError as err:
        first = err.errors()[0]
        told = f"its receipt is none: {'.'.join(map(str, first['loc']))}: {first['msg']}"
        return ReadBundle(None, tuple(envelopes), (*problems, told))


def _read_line(line: bytes) -> Envelope | None:
    try:
        told = json.loads(line)
        kind, payload = told["payloadType"], base64.b64decode(told["payload"], validate=True)
        statement = json.loads(payload)
        signatures = [Signature(str(one["keyid"]), str(one["sig"])) for one in told["signatures"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if kind != PAYLOAD or not isinstance(statement, dict):
        return None
    return Envelope(payload, signatures[0] if signatures else None, statement)


def _is_ours(line: bytes, read: Envelope) -> bool:
    """To the byte: what can be written in two ways could say two things."""
    try:
        return payload_of(read.statement) == read.payload and line_of(read.payload, read.signature).rstrip() == line
    except (ValueError, RecursionError):
        return False
