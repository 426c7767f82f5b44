"""The errors that the rest of the tree tells apart, always by their class. Everything else that is raised is a bug."""


class DamascusError(Exception):
    """One clear sentence and what to do next. `cli.main` prints it and exits 1."""

    exit_code = 1


class DatabaseUnreachable(DamascusError):
    """Nobody wants to wait for it any longer."""


class UsageError(DamascusError):
    """The words of the command, the config or the spec are wrong. Exit code 2."""

    exit_code = 2


class NotThere(DamascusError):
    """Nothing of that name or number is there: a story, a question, a receipt. On the web it is 404."""


class SetupFailed(DamascusError):
    """The project's own set-up command failed; `log` is a file with what it said."""

    def __init__(self, message: str, log: str) -> None:
        super().__init__(message)
        self.log = log


class RootNeeded(SetupFailed):
    """The set-up command asked for root rights, which were refused: a person has to give what it needs."""


class Fenced(Exception):
    """This worker's lease was taken over: it drops the item silently. Not a failure of the story."""


class Outdated(DamascusError):
    """This code does not know the database's schema: it claims nothing more and finishes what it holds."""


class Stopping(Exception):
    """The process was asked to stop; what runs gives its item back without burning an attempt."""


class AgentBroken(Exception):
    """No agent can work before a person acts: a wrong key, model, gateway or program, told in one sentence."""


class TransientError(Exception):
    """Trouble outside the story (failures.FailureKind): wait and try again, nothing is charged.

    `wait` is how many seconds it is known to last.
    """

    def __init__(self, message: str, *, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


class GitError(Exception):
    """A git command that failed, with what git itself said."""

    def __init__(self, args: tuple[str, ...], code: int, stderr: str) -> None:
        super().__init__(f"git {' '.join(args[:3])} … exited {code}: {stderr.strip()[-500:]}")
        self.code = code
        self.stderr = stderr
