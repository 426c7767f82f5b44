"""The scanner's process: `python -m damascus.scanning.scan`, spoken to over its stdin, a socket.

It is a process of its own so that no expression on an agent's text can hold up the worker's heartbeat (⚑), and no
source that Python is asked to compile can take the worker down with it. With the word `quick` it knows our own
patterns only, with `reader` none: it then reads for the worker what agents wrote (CALLS).
detect-secrets' detectors are asked directly: its filters, and with them the inline allow-list comments that an
agent could write, are not used, and for its network checks of a found secret the library is not even there.
"""

import json
import resource
import socket
import struct
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any, NotRequired, TypedDict

from damascus.scanning.patterns import GENERATED, generic_kinds, is_secret, known_kinds, speaks_of_digests

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
"""All of detect-secrets but public IPs, and entropy and keyword, for which patterns has quieter rules."""
QUICK = "quick"
READER = "reader"
Detector = tuple[str, Callable[[str], Iterator[str]]]


class NewLines(TypedDict):
    """What a candidate adds to one file. `source`: a person's text inside a file that tools write (a notebook)."""

    path: str
    binary: bool
    lines: list[tuple[int, str]]
    source: NotRequired[bool]


class Hit(TypedDict):
    """Where a secret stands; never the secret."""

    path: str
    line: int
    kind: str


def without_network() -> None:
    """detect-secrets imports requests to ask an issuer about a secret. We never do; it is over half of the start."""
    nothing = ModuleType("requests")
    nothing.Response = object  # type: ignore[attr-defined]  # named in its annotations
    sys.modules["requests"] = nothing


def load_detectors() -> list[Detector]:
    loaded = []
    for module, name in DETECTORS.items():
        plugin = getattr(import_module(f"detect_secrets.plugins.{module}"), name)()
        loaded.append((str(plugin.secret_type), plugin.analyze_string))
    return loaded


def scan(files: list[NewLines], detectors: list[Detector]) -> list[Hit]:
    return [hit for file in files for hit in _scan_file(file, detectors)]


def _scan_file(file: NewLines, detectors: list[Detector]) -> Iterator[Hit]:
    digests = speaks_of_digests([file["path"], *(line[:PIECE] for _, line in file["lines"])])
    for number, line in file["lines"]:
        for kind in sorted(_kinds(file, line, detectors, digests)):
            yield Hit(path=file["path"], line=number, kind=kind)


def _kinds(file: NewLines, line: str, detectors: list[Detector], digests: bool) -> set[str]:
    """A very long line is looked at in overlapping pieces: others' expressions are not all linear."""
    by_hand = file.get("source") or not (file["binary"] or GENERATED.fullmatch(file["path"]))
    kinds: set[str] = set()
    for start in range(0, max(1, len(line)), PIECE):
        piece = line[max(0, start - OVERLAP) : start + PIECE]
        kinds |= known_kinds(piece)
        kinds |= {kind for kind, analyze in detectors if any(is_secret(value) for value in analyze(piece))}
        if by_hand:
            kinds |= generic_kinds(file["path"], piece, digests=digests)
    return kinds


def compile_error(path: str, source: str) -> str:
    """Why this Python can't compile a source; "" when it can. Nothing of it is run."""
    try:
        compile(source, path, "exec", dont_inherit=True)
    except SyntaxError as err:
        return f"{path}:{err.lineno or 1}: {type(err).__name__}: {err.msg}"
    except (ValueError, RecursionError, MemoryError, OverflowError) as err:
        return f"{path}: {type(err).__name__}: {err}"
    return ""


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


CALLS = {
    "tests_in": "damascus.stacks.wire",
    "read_run": "damascus.stacks.wire",
    "contract_files": "damascus.contracts.wire",
    "look_at_description": "damascus.contracts.wire",
    "operations_of": "damascus.contracts.wire",
    "schema_files": "damascus.contracts.wire",
    "look_at_schema": "damascus.contracts.wire",
    "compare_pictures": "damascus.screenshots.wire",
}
"""Readers of agents' text that this process runs for the worker, and where they are written: pure, JSON to JSON."""
CALL_SECONDS = 5
"""Of processor time. Whoever needs more has been given a text that was made for it: the process ends."""
LONGER = {"look_at_description": 10, "look_at_schema": 10, "compare_pictures": 30}
"""Libraries of others, on two large documents or pictures at once."""
CALL_MEMORY = 4 << 30


def call(name: str, given: dict[str, Any]) -> dict[str, object]:
    """One reader, under a limit of processor time (the kernel ends us) and of memory."""
    reader = getattr(import_module(CALLS[name]), name)
    used = resource.getrusage(resource.RUSAGE_SELF)
    spent = int(used.ru_utime + used.ru_stime)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (spent + LONGER.get(name, CALL_SECONDS) + 1, hard))
    try:
        return {"value": reader(**given)}
    except (RecursionError, MemoryError, ValueError, OverflowError) as err:
        return {"unreadable": type(err).__name__}
    finally:
        resource.setrlimit(resource.RLIMIT_CPU, (hard, hard))


def answer(request: dict[str, Any], detectors: list[Detector]) -> dict[str, object]:
    if "call" in request:
        return call(request["call"], request["given"])
    if "compile" in request:
        return {"error": compile_error(request["compile"], request["source"])}
    return {"hits": scan(request["files"], detectors)}


def main(words: list[str]) -> None:
    without_network()
    detectors = [] if QUICK in words or READER in words else load_detectors()
    if READER in words:
        resource.setrlimit(resource.RLIMIT_AS, (CALL_MEMORY, CALL_MEMORY))
    with socket.socket(fileno=0) as sock:
        while (request := receive(sock)) is not None:
            send(sock, answer(request, detectors))


if __name__ == "__main__":
    main(sys.argv[1:])
