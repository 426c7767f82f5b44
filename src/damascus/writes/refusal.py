"""A write that must not happen, with the check that says so and advice that the agent can act on."""


class RefusedWrite(Exception):
    """`check`: path, scope, role, secret, person, or pipeline for a failure of our own."""

    def __init__(self, check: str, reason: str) -> None:
        super().__init__(reason)
        self.check = check
        self.reason = reason
