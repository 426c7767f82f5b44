"""The scanner's process: `python -m damascus.scanning.scan`, spoken to over its stdin, a socket.

It is a process of its own so that no expression on an agent's text can hold up the worker's heartbeat (⚑).
detect-secrets' detectors are asked directly: its filters, and with them the inline allow-list comments that an
agent could write, and its network checks of a found secret, are not even loaded.
"""

import json
import socket
import struct
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, TypedDict

from damascus.scanning.patterns import GENERATED, generic_kinds, is_placeholder, named_kinds

LENGTH = struct.Struct(">I")
PIECE, OVERLAP = 4_000, 300
DETECTORS = {
    "artifactory": "ArtifactoryDetector",
    "aws": "AWSKeyDetector",
    "azure_storage_key": "AzureStorageKeyDetector",
    "basic_auth": "BasicAuthDetector",
    "cloudant": "CloudantDetector",
    "discord": "DiscordBotTokenDetector",
    "github_token": "GitHubTokenDetector",
    "gitlab_token": "GitLabTokenDetector",
    "ibm_cloud_iam": "IbmCloudIamDetector",
    "ibm_cos_hmac": "IbmCosHmacDetector",
    "jwt": "JwtTokenDetector",
    "mailchimp": "MailchimpDetector",
    "npm": "NpmDetector",
    "openai": "OpenAIDetector",
    "private_key": "PrivateKeyDetector",
    "pypi_token": "PypiTokenDetector",
    "sendgrid": "SendGridDetector",
    "slack": "SlackDetector",
    "softlayer": "SoftlayerDetector",
    "square_oauth": "SquareOAuthDetector",
    "stripe": "StripeDetector",
    "telegram_token": "TelegramBotTokenDetector",
    "twilio": "TwilioKeyDetector",
}
"""All of detect-secrets but public IPs, and entropy and keyword, for which secret_patterns has quieter rules."""
WEAK_PASSWORDS = frozenset({"password", "passwd", "pass", "pwd", "secret", "postgres", "user", "admin", "test", "root"})
Detector = tuple[str, Callable[[str], Iterator[str]]]


class NewLines(TypedDict):
    """What a candidate adds to one file."""

    path: str
    binary: bool
    lines: list[tuple[int, str]]


class Hit(TypedDict):
    """Where a secret stands; never the secret."""

    path: str
    line: int
    kind: str


def load_detectors() -> list[Detector]:
    loaded = []
    for module, name in DETECTORS.items():
        plugin = getattr(import_module(f"detect_secrets.plugins.{module}"), name)()
        loaded.append((str(plugin.secret_type), plugin.analyze_string))
    return loaded


def scan(files: list[NewLines], detectors: list[Detector]) -> list[Hit]:
    return [
        Hit(path=file["path"], line=number, kind=kind)
        for file in files
        for number, line in file["lines"]
        for kind in sorted(_kinds(file["path"], line, file["binary"], detectors))
    ]


def _kinds(path: str, line: str, binary: bool, detectors: list[Detector]) -> set[str]:
    """A very long line is looked at in overlapping pieces: others' expressions are not all linear."""
    kinds: set[str] = set()
    for start in range(0, max(1, len(line)), PIECE):
        piece = line[max(0, start - OVERLAP) : start + PIECE]
        kinds |= named_kinds(piece)
        kinds |= {kind for kind, analyze in detectors if any(_is_secret(value) for value in analyze(piece))}
        if not binary and not GENERATED.fullmatch(path):
            kinds |= generic_kinds(path, piece)
    return kinds


def _is_secret(value: str) -> bool:
    return not is_placeholder(value) and value.lower() not in WEAK_PASSWORDS


def receive(sock: socket.socket) -> Any:
    """One message, or None at the end."""
    head = _exactly(sock, LENGTH.size)
    if head is None:
        return None
    body = _exactly(sock, LENGTH.unpack(head)[0])
    return None if body is None else json.loads(body)


def send(sock: socket.socket, message: Any) -> None:
    body = json.dumps(message).encode()
    sock.sendall(LENGTH.pack(len(body)) + body)


def _exactly(sock: socket.socket, size: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < size:
        data = sock.recv(min(size - len(parts), 1 << 20))
        if not data:
            return None
        parts += data
    return bytes(parts)


def main() -> None:
    detectors = load_detectors()
    with socket.socket(fileno=0) as sock:
        while (request := receive(sock)) is not None:
            send(sock, {"hits": scan(request["files"], detectors)})


if __name__ == "__main__":
    main()
