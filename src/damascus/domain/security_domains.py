"""The twenty domains that a security review goes through, published in docs/security-review.md (F3).

The reviewer says something of each, also that it is not concerned: what nobody names, nobody looked at.
"""

from damascus.domain.described import Described


class SecurityDomain(Described):
    """One question to the whole change."""

    INPUT = "input", "is everything that comes from outside checked before it is used: type, length, range, encoding?"
    INJECTION = "injection", "can input become SQL, a shell command, a template, a query, a header?"
    OUTPUT = "output", "is what is shown escaped for where it is shown: HTML, attributes, scripts, terminals, CSV?"
    AUTHENTICATION = "authentication", "is it known who asks, and can that be guessed, replayed or skipped?"
    SESSIONS = "sessions", "do tokens and cookies end, rotate, and stay with whom they were given?"
    AUTHORIZATION = "authorization", "may exactly these people do exactly this, also when they name another's id?"
    DATA = "data", "is personal and confidential data kept to what is needed, and away from who needs it not?"
    CRYPTOGRAPHY = "cryptography", "are algorithms, modes, keys and random numbers fit for their purpose?"
    SECRETS = "secrets", "is any key, password or token in code, tests, logs, messages or defaults?"
    FILES = (
        "files",
        "can a path lead elsewhere, by `..`, a link or an archive, and who may read what is written?",
    )
    NETWORK = "network", "can a request be sent where it should not go, and is the other side's identity checked?"
    DESERIALIZATION = "deserialization", "is anything read that can build objects, expand entities or run code?"
    DEPENDENCIES = "dependencies", "is anything new relied on, is it pinned, maintained, and known to be sound?"
    CONFIGURATION = "configuration", "is every default safe, and is nothing open that is meant for development?"
    ERRORS = "errors", "does a failure close what it should, and tell outsiders nothing of the inside?"
    LOGGING = "logging", "is what matters recorded, and nothing that must not be; can a log line be forged?"
    CONCURRENCY = "concurrency", "can anything change between a check and its use, or happen twice at once?"
    RESOURCES = "resources", "what can one user use up for all: memory, disk, time, connections, money?"
    LOGIC = "logic", "can steps be skipped, repeated, reversed or combined to get what was not meant?"
    EXECUTION = "execution", "is code run or memory touched in unsafe ways: eval, plug-ins, native calls, overflow?"
