"""The key of an installation: receipts are signed with it, and others check them by its public half.

Either a key of its own (ed25519, made by `damascus receipt key`; needs the extra `receipts`) or a person's SSH key,
with which `ssh-keygen -Y` signs. What is signed is DSSE's encoding of a payload and its type, so that a signature of
one kind of thing is none of another.
"""

import base64
import binascii
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from damascus.domain.errors import DamascusError
from damascus.domain.receipt_note import Signature
from damascus.system.replacing import PRIVATE, replace_file

FOLDER = "receipt-key"
PRIVATE_FILE, PUBLIC_FILE, SSH_FILE = "private.pem", "public.json", "ssh"
NAMESPACE = "damascus-receipt"
SSH_KEY = re.compile(r"(?:ssh|ecdsa|sk)-[a-z0-9@.-]{1,80} [A-Za-z0-9+/=]{20,5000}")
NAME_ONE = "Name one of `damascus receipt key`, or an OpenSSH .pub."
INSTALL = "Install it: pip install 'damascus-orchestrator[receipts]', or use an SSH key: receipt key --ssh FILE"


class PublicKey(Protocol):
    """Checks signatures."""

    @property
    def keyid(self) -> str: ...

    def verifies(self, signed: bytes, sig: str) -> bool: ...


class SigningKey(Protocol):
    """Makes them."""

    @property
    def keyid(self) -> str: ...

    def sign(self, signed: bytes) -> str: ...


def encoded(kind: str, payload: bytes) -> bytes:
    """DSSE's pre-authentication encoding."""
    return b"DSSEv1 %d %b %d %b" % (len(kind.encode()), kind.encode(), len(payload), payload)


def signed(home: Path, kind: str, payload: bytes) -> Signature | None:
    """By the installation's key; None where it has none."""
    key = own_key(home)
    return Signature(key.keyid, key.sign(encoded(kind, payload))) if key else None


def check(signature: Signature, kind: str, payload: bytes, keys: Sequence[PublicKey]) -> bool | None:
    """None: nobody here knows that key."""
    known = [key for key in keys if key.keyid == signature.keyid]
    return any(key.verifies(encoded(kind, payload), signature.sig) for key in known) if known else None


# ── keys of a data folder ─────────────────────────────────────────────────────────────────────────────


def own_key(home: Path) -> SigningKey | None:
    """None: this installation signs nothing."""
    folder = home / FOLDER
    if (folder / SSH_FILE).is_file():
        return SshKey.of(Path((folder / SSH_FILE).read_text("utf-8").strip()))
    return OwnKey(folder) if (folder / PRIVATE_FILE).is_file() else None


def make_key(home: Path) -> Path:
    """The public half, for others; made once."""
    folder = home / FOLDER
    if not (folder / PRIVATE_FILE).is_file():
        made = _library().CryptoSigner.generate_ed25519()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        told = {"keyid": made.public_key.keyid, **made.public_key.to_dict()}
        replace_file(folder / PUBLIC_FILE, json.dumps(told, indent=1) + "\n")
        replace_file(folder / PRIVATE_FILE, made.private_bytes, mode=PRIVATE, sync=True)
    (folder / SSH_FILE).unlink(missing_ok=True)
    return folder / PUBLIC_FILE


def use_ssh_key(home: Path, private: Path) -> Path:
    """From now on that key signs; its public half lies beside it."""
    found = SshKey.of(private.expanduser().resolve())
    (home / FOLDER).mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_file(home / FOLDER / SSH_FILE, f"{found.private}\n")
    return found.public


def public_key(file: Path) -> PublicKey:
    """Of a file that somebody gave: as `receipt key` writes it, or an OpenSSH .pub."""
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as err:
        why = err.strerror if isinstance(err, OSError) else "it is no text"
        raise DamascusError(f"{file} can't be read as a public key: {why}. {NAME_ONE}") from None
    if SSH_KEY.match(text):
        return SshPublic(text.strip())
    try:
        told = json.loads(text)
        return OwnPublic(told["keyid"], {key: told[key] for key in ("keytype", "scheme", "keyval")})
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DamascusError(f"{file} is no public key. {NAME_ONE}") from None


def known_keys(home: Path) -> list[PublicKey]:
    """Those of this installation."""
    folder = home / FOLDER
    found: list[PublicKey] = []
    if (folder / PUBLIC_FILE).is_file():
        found.append(public_key(folder / PUBLIC_FILE))
    if (folder / SSH_FILE).is_file():
        with suppress(DamascusError):  # it was taken away since
            found.append(public_key(SshKey.of(Path((folder / SSH_FILE).read_text("utf-8").strip())).public))
    return found


# ── a key of our own ──────────────────────────────────────────────────────────────────────────────────


def _library() -> Any:
    try:
        from securesystemslib import signer  # an extra: who signs nothing need not have it
    except ImportError:
        raise DamascusError(f"signatures need securesystemslib, which is not there. {INSTALL}") from None
    return signer


class OwnKey:
    def __init__(self, folder: Path) -> None:
        self._private = folder / PRIVATE_FILE
        told = json.loads((folder / PUBLIC_FILE).read_text("utf-8"))
        self._keyid = str(told["keyid"])
        self._public = {key: told[key] for key in ("keytype", "scheme", "keyval")}

    @property
    def keyid(self) -> str:
        return self._keyid

    def sign(self, signed: bytes) -> str:
        signer = _library()
        public = signer.SSlibKey.from_dict(self.keyid, dict(self._public))
        made = signer.CryptoSigner.from_priv_key_uri(f"file2:{self._private}", public)
        return base64.b64encode(bytes.fromhex(made.sign(signed).signature)).decode()


@dataclass(frozen=True)
class OwnPublic:
    keyid: str
    told: dict[str, object]

    def verifies(self, signed: bytes, sig: str) -> bool:
        signer = _library()
        try:
            raw = base64.b64decode(sig, validate=True)
            signature = signer.Signature(self.keyid, raw.hex())
            signer.SSlibKey.from_dict(self.keyid, dict(self.told)).verify_signature(signature, signed)
        except Exception:  # whatever is wrong with it, it is no signature of this
            return False
        return True


# ── an SSH key ────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class SshKey:
    private: Path
    public: Path
    keyid: str

    @classmethod
    def of(cls, private: Path) -> "SshKey":
        public = private.with_name(f"{private.name}.pub")
        if not private.is_file() or not public.is_file():
            raise DamascusError(
                f"{private} and {public.name} beside it are not both there. Name the private key's file."
            )
        return cls(private, public, SshPublic(public.read_text("utf-8").strip()).keyid)

    def sign(self, signed: bytes) -> str:
        done = _ssh_keygen("-Y", "sign", "-q", "-f", str(self.private), "-n", NAMESPACE, given=signed)
        if done.returncode != 0:
            raise DamascusError(f"ssh-keygen could not sign with {self.private}: {done.stderr.decode().strip()[-200:]}")
        return base64.b64encode(done.stdout).decode()


@dataclass(frozen=True)
class SshPublic:
    line: str

    @property
    def keyid(self) -> str:
        done = _ssh_keygen("-l", "-f", "-", given=self.line.encode())
        words = done.stdout.decode().split()
        if done.returncode != 0 or len(words) < 2:
            raise DamascusError("ssh-keygen can't read that public key.")
        return words[1]

    def verifies(self, signed: bytes, sig: str) -> bool:
        try:
            raw = base64.b64decode(sig, validate=True)
        except (ValueError, binascii.Error):
            return False
        with tempfile.TemporaryDirectory() as folder:
            signature, allowed = Path(folder, "sig"), Path(folder, "allowed")
            signature.write_bytes(raw)
            allowed.write_text(f"signer {' '.join(self.line.split()[:2])}\n")
            words = ("-Y", "verify", "-q", "-f", str(allowed), "-I", "signer", "-n", NAMESPACE, "-s", str(signature))
            return _ssh_keygen(*words, given=signed).returncode == 0


def _ssh_keygen(*words: str, given: bytes) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            ["ssh-keygen", *words], input=given, capture_output=True, env={**os.environ, "LC_ALL": "C"},
            start_new_session=True, timeout=60,
        )  # fmt: skip
    except FileNotFoundError:
        raise DamascusError(
            "ssh-keygen is not here. Install OpenSSH, or make a key of its own: damascus receipt key"
        ) from None
