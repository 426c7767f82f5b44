"""Variables that a shell command reads: those that nobody has set are secrets that a person has to provide (A2).

Only names in capitals count, as people write what comes from outside. A name that the command sets itself, or has a
default for, is not needed; nor is what a shell or Damascus always sets.
"""

import re

READ = re.compile(r"\$(?:([A-Z][A-Z0-9_]+)|\{([A-Z][A-Z0-9_]+)\})")
"""`$NAME` and `${NAME}`; `${NAME:-x}` and its like have a default, or say themselves what they lack."""
SET = re.compile(r"(?<![\w$])([A-Z][A-Z0-9_]+)=|\b(?:for|read)\s+([A-Z][A-Z0-9_]+)\b")
ALWAYS = frozenset(
    [
        "PATH",
        "HOME",
        "PWD",
        "OLDPWD",
        "TMPDIR",
        "USER",
        "LOGNAME",
        "LANG",
        "SHELL",
        "TERM",
        "IFS",
        "UID",
        "EUID",
        "PPID",
        "RANDOM",
        "SECONDS",
        "LINENO",
        "HOSTNAME",
        "OPTARG",
        "OPTIND",
        "REPLY",
        "BASHPID",
        "XDG_CACHE_HOME",
    ]
)
OURS = "DAMASCUS_"
LONGEST = 20_000


def variables_in(command: str) -> list[str]:
    """The names that it reads from its environment, in order."""
    seen = _expanded(command[:LONGEST])
    own = {one or other for one, other in SET.findall(seen)}
    names = [one or other for one, other in READ.findall(seen)]
    return [name for name in dict.fromkeys(names) if name not in own | ALWAYS and not name.startswith(OURS)]


def _expanded(command: str) -> str:
    """Without what a shell takes to the letter: single quotes, and what stands behind a backslash."""
    kept: list[str] = []
    quoted = escaped = double = False
    for char in command:
        if escaped:
            escaped = False
        elif quoted:
            quoted = char != "'"
        elif char == "\\":
            escaped = True
        elif char == "'" and not double:
            quoted = True
        else:
            double ^= char == '"'
            kept.append(char)
    return "".join(kept)
