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

PREFIXED = {
    "Anthropic key": r"sk-ant-[A-Za-z0-9_-]{20,}",
    "OpenAI key": r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}|sk-[A-Za-z0-9]{48}(?![A-Za-z0-9])",
    "OpenRouter key": r"sk-or-v1-[0-9a-f]{32,}",
    "AWS access key": r"(?:AKIA|ASIA|ABIA|ACCA|A3T[0-9A-Z])[0-9A-Z]{16}(?![0-9A-Za-z])",
    "private key": r"-----BEGIN (?:[A-Z0-9]{2,12} ){0,2}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d",
    "JSON web token": r"eyJ[0-9A-Za-z_-]{10,}\.eyJ[0-9A-Za-z_-]{10,}\.[0-9A-Za-z_-]{10,}",
    "Azure storage key": r"AccountKey=[0-9A-Za-z+/]{86}==",
    "Telegram token": r"\d{8,10}:AA[0-9A-Za-z_-]{33}(?![0-9A-Za-z_-])",
    "Discord token": r"[MNO][0-9A-Za-z_-]{23,25}\.[0-9A-Za-z_-]{6}\.[0-9A-Za-z_-]{27,38}(?![0-9A-Za-z_-])",
    "Mailchimp key": r"[0-9a-f]{32}-us\d{1,2}(?!\w)",
    "Square token": r"sq0(?:atp|csp|idp)-[0-9A-Za-z_-]{22,43}",
    "Slack webhook": r"https://hooks\.slack\.com/(?:services|workflows)/T[0-9A-Za-z_]{6,}/[0-9A-Za-z_/]{16,}",
    "Airtable token": r"pat[0-9A-Za-z]{14}\.[0-9a-f]{64}",
    "Artifactory token": r"AKC[0-9A-Za-z]{10,}[0-9A-Za-z_-]{40,}",
    "Google API key": r"AIza[0-9A-Za-z_-]{35}",
    "Google OAuth token": r"ya29\.[0-9A-Za-z_-]{20,}|GOCSPX-[0-9A-Za-z_-]{28}",
    "GitHub token": r"github_pat_[0-9A-Za-z_]{22,}|gh[pousr]_[0-9A-Za-z]{36,}",
    "GitLab token": r"gl(?:pat|ptt|rt|cbt|dt|soat)-[0-9A-Za-z_-]{20,}",
    "npm token": r"npm_[A-Za-z0-9]{36}",
    "PyPI token": r"pypi-AgE[A-Za-z0-9_-]{20,}",
    "Stripe key": r"[sr]k_(?:live|test)_[0-9A-Za-z]{16,}|whsec_[0-9A-Za-z+/]{24,}",
    "Slack token": r"xapp-\d-[0-9A-Za-z-]{20,}|xox[abeoprs]-[0-9A-Za-z-]{20,}",
    "Twilio key": r"(?:AC|SK)[0-9a-f]{32}(?![0-9a-f])",
    "SendGrid key": r"SG\.[\w-]{20,24}\.[\w-]{39,50}",
    "Mailgun key": r"key-[0-9a-f]{32}(?![0-9a-f])",
    "DigitalOcean token": r"do[oprt]_v1_[0-9a-f]{64}",
    "Databricks token": r"dapi[0-9a-f]{32}",
    "Doppler token": r"dp\.(?:pt|st|ct|sa|scim|audit)\.[0-9A-Za-z.]{30,}",
    "Shopify token": r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
    "Vault token": r"hv[sbr]\.[0-9A-Za-z_-]{20,}",
    "Hugging Face token": r"hf_[A-Za-z0-9]{30,}",
    "Groq key": r"gsk_[0-9A-Za-z]{40,}",
    "Replicate token": r"r8_[0-9A-Za-z]{30,}",
    "xAI key": r"xai-[0-9A-Za-z]{40,}",
    "Linear key": r"lin_(?:api|oauth)_[0-9A-Za-z]{32,}",
    "Notion token": r"(?:secret|ntn)_[0-9A-Za-z]{40,}",
    "Docker token": r"dckr_[po]at_[0-9A-Za-z_-]{20,}",
    "age key": r"AGE-SECRET-KEY-1[0-9A-Z]{50,}",
    "Supabase token": r"sb[ps]_[0-9a-f]{40}",
    "PlanetScale token": r"pscale_(?:tkn|pw|oauth)_[0-9A-Za-z_.-]{30,}",
    "Grafana token": r"gl(?:sa|c)_[0-9A-Za-z+/_=]{32,}",
    "Sentry token": r"sntrys_[0-9A-Za-z+/=_]{40,}",
    "New Relic key": r"NRAK-[0-9A-Z]{27}",
    "Postman key": r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}",
    "Atlassian token": r"ATATT3[0-9A-Za-z_=-]{60,}",
    "Figma token": r"figd_[0-9A-Za-z_-]{40,}",
    "Terraform token": r"[0-9A-Za-z]{14}\.atlasv1\.[0-9A-Za-z_=-]{60,}",
}
NAMED = re.compile(
    r"(?<![A-Za-z0-9])(?:" + "|".join(f"(?P<k{n}>{shape})" for n, shape in enumerate(PREFIXED.values())) + ")"
)
KINDS = list(PREFIXED)

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
    found = [match for match in NAMED.finditer(line) if not is_placeholder(match.group())]
    kinds = {KINDS[int((match.lastgroup or "k0")[1:])] for match in found}
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
    texts = [match["value"] for match in BASE64.finditer(line)] if not DIGEST.search(line) else []
    if any(_is_high_entropy(value) and not ((here or digests) and is_digest(value)) for value in texts):
        kinds.add("high-entropy text")
    return kinds


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
