"""Which samples belong to which schema: `[contracts] samples` names them, `{name}` being the schema's name."""

import posixpath
import re
from collections.abc import Sequence

from damascus.domain.ids import Sha
from damascus.domain.ports import Candidate
from damascus.domain.scope import Scope

ENDINGS = re.compile(r"(?:\.schema)?\.(?:json|ya?ml)$", re.IGNORECASE)
MOST = 500
MOST_BYTES = 10_000_000


def schema_name(path: str) -> str:
    """`schemas/user.schema.json` is `user`."""
    return ENDINGS.sub("", posixpath.basename(path))


def samples_of(candidate: Candidate, commit: Sha, patterns: Sequence[str], name: str) -> dict[str, bytes]:
    """The samples of one schema at a commit, by path; what is too much is left out from the end."""
    wanted = Scope(tuple(pattern.replace("{name}", _literal(name)) for pattern in patterns))
    found: dict[str, bytes] = {}
    size = 0
    for path in sorted(path for path in candidate.files(commit) if wanted.allows(path))[:MOST]:
        data = candidate.read(commit, path) or b""
        size += len(data)
        if size <= MOST_BYTES:
            found[path] = data
    return found


def _literal(name: str) -> str:
    return re.sub(r"([*?\[{])", r"[\1]", name)
