"""A receipt as a note on its commit: the receipt as it is written everywhere, then a hash of these bytes, then, where
the installation has a key, its signature. So one changed byte is seen whether or not anybody signed."""

import hashlib
import re
from dataclasses import dataclass

from pydantic import ValidationError

from damascus.domain.receipt import BuildReceipt

RECEIPT_PAYLOAD = "application/vnd.damascus.receipt+json"
HASH = re.compile(rb"sha256 ([0-9a-f]{64})\n")
SIGNED = re.compile(rb"signed ([^\s]{1,200}) ([A-Za-z0-9+/=]{1,4000})\n")


@dataclass(frozen=True)
class Signature:
    """Over the receipt's bytes as a DSSE payload (docs/receipts.md)."""

    keyid: str
    sig: str


@dataclass(frozen=True)
class ReadNote:
    """What a note holds. `problems` are what is wrong with it, each a sentence; without a receipt nothing can be
    compared."""

    receipt: BuildReceipt | None
    body: bytes = b""
    signature: Signature | None = None
    problems: tuple[str, ...] = ()


def note_text(receipt: BuildReceipt, signature: Signature | None = None) -> bytes:
    return note_of(receipt.as_bytes(), signature)


def note_of(body: bytes, signature: Signature | None) -> bytes:
    """`body` is a receipt as it is written, and as it was signed."""
    lines = [f"sha256 {hashlib.sha256(body).hexdigest()}\n"]
    lines += [f"signed {signature.keyid} {signature.sig}\n"] if signature else []
    return body + "".join(lines).encode()


def read_note(text: bytes) -> ReadNote:
    """Whatever it is: who can write to the repository can write notes."""
    body, brace, rest = text.rpartition(b"\n}\n")
    body += brace
    named = HASH.match(rest)
    if not brace or named is None:
        return ReadNote(None, problems=("the note is no receipt: it does not end with the hash of one",))
    problems = []
    if hashlib.sha256(body).hexdigest() != named[1].decode():
        problems.append("the note was changed: its bytes don't have the hash that it ends with")
    signed = SIGNED.fullmatch(rest[named.end() :]) if rest[named.end() :] else None
    if rest[named.end() :] and signed is None:
        problems.append("the note was changed: what follows the hash is no signature")
    signature = Signature(signed[1].decode(errors="replace"), signed[2].decode()) if signed else None
    try:
        receipt = BuildReceipt.model_validate_json(body)
    except ValidationError as err:
        first = err.errors()[0]
        where = ".".join(map(str, first["loc"]))
        return ReadNote(None, body, signature, (*problems, f"the note is no receipt: {where}: {first['msg']}"))
    if not problems and receipt.as_bytes() != body:
        problems.append("the note is not written as receipts are")
    return ReadNote(receipt, body, signature, tuple(problems))
