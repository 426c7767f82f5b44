"""Why the builder stops. Read by `status`, so nothing heavy is imported here."""

from damascus.domain.described import Described


class HaltReason(Described):
    """Why the builder stops; there is no other reason (A2)."""

    ROOT = "root", "root rights are needed"
    BLOCKED = "blocked", "five attempts in a row were blocked, over all tasks"
    SECRET = "secret", "a required secret is missing"
    STALE = "stale", "a STALE task needs a person's word"
    SHIP = "ship", "SHIP was declared"
