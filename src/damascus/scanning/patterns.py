"""Secrets by their shape, and our generic rules: all that a write is looked through for before it lands.

detect-secrets 1.5.0 misses many of them or knows them by entropy only, and takes 6 ms per KB; it is asked about the
final diff. Every expression here is linear in time: a fixed prefix, then one class of characters.
"""

import base64
import binascii
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from damascus.scanning.shapes import MARKS, PADDED, PREFIXED, SERVICES

EXPRESSIONS = {kind: re.compile(rf"(?<![A-Za-z0-9])(?:{shape})") for kind, shape in PREFIXED.items()}
LITERAL = re.compile(r"(?:[\w:/=~% -]|\\\.)+(?![{?*+])")


def _marks(kind: str) -> tuple[str, ...]:
    """What each alternative begins with, unless the table says what to look for."""
    if kind in MARKS:
        return MARKS[kind]
    begins = [LITERAL.match(each) for each in re.split(r"\|(?![^(\[]*[)\]])", PREFIXED[kind])]
    return tuple(begin.group().replace("\\", "") if begin else "" for begin in begins)


MARKED = [(mark, kind) for kind in PREFIXED for mark in _marks(kind)]
"""A kind with the empty mark is looked for in every line: none of today's has it (a test says so)."""

URL_PASSWORD = re.compile(r"://[^\s/:@'\"`{}$<>%()\[\]]{1,100}:(?P<value>[^\s/:@'\"`{}$<>%()\[\]]{3,100})@[\w\[.-]")
WEAK_PASSWORDS = frozenset({"password", "passwd", "pass", "pwd", "secret", "postgres", "user", "admin", "test", "root"})
ESCAPE = re.compile(r"\\(?:u(?P<code>[0-9a-fA-F]{4})|x(?P<byte>[0-9a-fA-F]{2})|(?P<char>.))")
ENCODED = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")
URL_SAFE = str.maketrans("-_", "+/")
READABLE = bytes(range(0x20, 0x7F)) + b"\t\r\n"
ASSIGNED = (
    r"(?:api_?key|secret|token|passw(?:or)?d|passphrase|credentials?|private_?key|access_?key|auth_?key)"
    r"[\w-]{0,20}['\"\]]{0,2}[ \t]{0,8}(?::=|=>|=|:)[ \t]{0,8}"
)
QUOTED_VALUE = re.compile(ASSIGNED + r"[a-z]{0,2}(?P<quote>['\"`])(?P<value>[^'\"`\s]{12,200})(?P=quote)", re.I)
BARE_VALUE = re.compile(ASSIGNED + r"(?P<value>[^'\"`\s#<>{}()\[\],;]{12,200})[ \t]*$", re.I)
OF_A_SERVICE = re.compile(
    rf"(?<![A-Za-z])(?:{'|'.join(SERVICES)})[\w.-]{{0,30}}['\"\]]{{0,2}}[ \t]{{0,8}}(?::=|=>|=|:)[ \t]{{0,8}}"
    r"(?:(?P<quote>['\"`])(?P<value>[0-9A-Za-z_=+-]{15,200})(?P=quote)|(?P<bare>[0-9A-Za-z_=+-]{15,200})[ \t]*$)",
    re.I,
)
IN_A_HEADER = re.compile(
    r"authorization['\"]?[ \t]{0,8}[:=][ \t]{0,8}['\"]?(?:basic|bearer|token)[ \t]{1,8}(?P<value>[\w=~.+/-]{12,400})"
    r"|x-(?:api|auth)-(?:key|token)['\"]?[ \t]{0,8}[:=][ \t]{0,8}['\"]?(?P<key>[\w=~.+/-]{12,400})",
    re.I,
)
OF_CURL = re.compile(
    r"\bcurl\b[^\n|;]{0,300}?[ \t](?:-u|--user)[ \t=]{0,4}['\"]?[^\s:'\"$]{1,60}:(?P<value>[^\s'\"$<>{}]{8,200})"
)
BASE64 = re.compile(r"(?P<quote>['\"`])(?P<value>[A-Za-z0-9+/_-]{32,200}={0,2})(?P=quote)")
BARE_FILES = re.compile(r"(?:.*/)?(?:\.env[^/]*|[^/]*\.(?:env|ini|cfg|conf|properties|ya?ml|toml|tfvars))")
GENERATED = re.compile(
    r"(?:.*/)?(?:[^/]*[-.]lock(?:\.json|\.yaml)?|go\.sum|npm-shrinkwrap\.json|[^/]*\.(?:snap|svg|map|ipynb|min\.js|min\.css))"
)
"""Files that tools write, full of hashes: only known shapes are looked for in them."""
PLACEHOLDER = re.compile(
    r"example|placeholder|changeme|change_me|dummy|redacted|your[-_]|\$\{|\{\{|%\(|<[a-z]|(.)\1{5}|0123456789|abcdefghij",
    re.I,
)
DIGEST = re.compile(r"sha(?:1|256|384|512)[-:_]", re.I)
DIGEST_WORD = re.compile(
    r"sha[-_]?\d|md5|blake|digest|hash|checksum|crc|hmac|fingerprint|integrity|etag|signature|commit", re.I
)
"""Who speaks of digests has digests. Known shapes of keys are looked for all the same."""
HEX_DIGEST = re.compile(r"(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})", re.I)
DIGEST_BYTES = (16, 20, 28, 32, 48, 64)
ASSIGNED_ENTROPY = 3.2
BASE64_ENTROPY = 4.6


def entropy(text: str) -> float:
    """Shannon's, in bits per character."""
    size = len(text)
    return -sum(n / size * math.log2(n / size) for n in Counter(text).values())


def is_placeholder(value: str) -> bool:
    """What is plainly no secret: a word for one, a template, a run of one character."""
    return PLACEHOLDER.search(value) is not None


def is_secret(value: str) -> bool:
    return not is_placeholder(value) and value.lower() not in WEAK_PASSWORDS


def known_kinds(line: str) -> set[str]:
    """Known shapes in the line as it stands, with its escapes undone, and in what is base64 in it."""
    kinds = named_kinds(line)
    plain = line
    if "\\" in line:
        plain = unescaped(line)
        kinds |= named_kinds(plain)
    return kinds.union(*(named_kinds(text) for text in decoded(plain)))


def named_kinds(line: str) -> set[str]:
    maybe = {kind for mark, kind in MARKED if mark in line}
    found = [(kind, match.group()) for kind in maybe for match in EXPRESSIONS[kind].finditer(line)]
    kinds = {kind for kind, text in found if not is_placeholder(text.replace(PADDED.get(kind, "\n"), ""))}
    if "://" in line and any(is_secret(match["value"]) for match in URL_PASSWORD.finditer(line)):
        kinds.add("password in a URL")
    return kinds


def unescaped(line: str) -> str:
    """A notebook is JSON: in `\\nsk-…` a key seems to begin inside a word. What an escape means stands apart."""

    def meant(match: re.Match[str]) -> str:
        number = match["code"] or match["byte"]
        if number:
            return chr(int(number, 16))
        return match["char"] if match["char"] in "\"'\\/" else " "

    return ESCAPE.sub(meant, line)


def decoded(line: str) -> Iterator[str]:
    """Readable text that is base64 in the line. A piece of a longer one may begin at any of its four characters."""
    for match in ENCODED.finditer(line):
        run = match.group().rstrip("=").translate(URL_SAFE)
        for start in range(4):
            part = run[start : len(run) - ((len(run) - start) % 4 == 1)]
            data = base64.b64decode(part + "=" * (-len(part) % 4))
            if len(data.translate(None, READABLE)) * 5 < len(data):
                yield data.decode("latin-1")


def speaks_of_digests(lines: Iterable[str]) -> bool:
    return any(DIGEST_WORD.search(line) for line in lines)


def generic_kinds(path: str, line: str, *, digests: bool = False) -> set[str]:
    """A secret-sounding name with a random-looking value, or a long random-looking text. `digests`: the file speaks of
    them, so that a value of exactly a digest's size is one; where the name sounds secret the line itself must."""
    kinds = set()
    patterns = [QUOTED_VALUE, BARE_VALUE] if BARE_FILES.fullmatch(path) else [QUOTED_VALUE]
    here = DIGEST_WORD.search(line) is not None
    found = [match["value"] for pattern in patterns for match in pattern.finditer(line)]
    if any(_looks_random(value) and not (here and is_digest(value)) for value in found):
        kinds.add("secret in an assignment")
    if any(_looks_random(value) and not (here and is_digest(value)) for value in _of_services(path, line)):
        kinds.add("key of a service")
    headers = [match["value"] or match["key"] for match in IN_A_HEADER.finditer(line)]
    if any(_looks_random(value) for value in headers) or any(
        is_secret(match["value"]) for match in OF_CURL.finditer(line)
    ):
        kinds.add("credentials in a request")
    texts = [match["value"] for match in BASE64.finditer(line)] if not DIGEST.search(line) else []
    if any(_is_high_entropy(value) and not ((here or digests) and is_digest(value)) for value in texts):
        kinds.add("high-entropy text")
    return kinds


def _of_services(path: str, line: str) -> list[str]:
    small = line.lower()
    if not any(word in small for word in SERVICES):
        return []
    bare = BARE_FILES.fullmatch(path) is not None
    found = [match["value"] or (match["bare"] if bare else "") for match in OF_A_SERVICE.finditer(line)]
    return [value for value in found if value]


def _has_credentials(line: str) -> bool:
    headers = [match["value"] or match["key"] for match in IN_A_HEADER.finditer(line)]
    passwords = [match["value"] for match in OF_CURL.finditer(line)]
    return any(map(_looks_random, headers)) or any(map(is_secret, passwords))


def is_digest(value: str) -> bool:
    """In hex or base64, of exactly the size that a hash function gives."""
    if HEX_DIGEST.fullmatch(value):
        return True
    try:
        return len(base64.b64decode(value.translate(URL_SAFE) + "=" * (-len(value) % 4), validate=True)) in DIGEST_BYTES
    except binascii.Error:
        return False


def _looks_random(value: str) -> bool:
    mixed = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    return mixed and entropy(value) >= ASSIGNED_ENTROPY and not is_placeholder(value) and not _is_code(value)


def _is_code(value: str) -> bool:
    """A path, a dotted name, a call, a pattern or a variable is a reference to a secret, not one."""
    return value.startswith(("/", "./", "$", "http://", "https://")) or any(mark in value for mark in ("(", "[", "::"))


def _is_high_entropy(value: str) -> bool:
    classes = (any(c.isupper() for c in value), any(c.islower() for c in value), any(c.isdigit() for c in value))
    return all(classes) and entropy(value) >= BASE64_ENTROPY and not is_placeholder(value) and not _is_text(value)


def _is_text(value: str) -> bool:
    """Encoded plain text is as mixed as a key, but nothing to hide."""
    try:
        decoded = base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except binascii.Error:
        return False
    return not decoded.translate(None, READABLE)
