"""What is observed of a running agent, and the words for why one was ended (docs/oversight.md)."""

from damascus.domain.described import Described


class Sign(Described):
    """A sign of life or of trouble, as an adapter or the gateway sees it."""

    OUTPUT = "output", "it printed something"
    TURN = "turn", "the model answered"
    WRITE = "write", "a file of its workspace changed, or a write passed the pipeline"
    USAGE = "usage", "what one answer used"
    API_ERROR = "api_error", "a call of the provider failed, with its status and when a limit ends"
    API_OK = "api_ok", "a call of the provider succeeded"
    DENIED = "denied", "a tool was refused by its permission system or the sandbox"
    ACCEPTED = "accepted", "a tool ran"
    HOOK_FAILED = "hook_failed", "the write pipeline did not answer"


class EndedBy(Described):
    """Why an agent was ended. Only `ITSELF` is empty, and so false: it was not."""

    ITSELF = "", "it came to its own end"
    STOPPED = "stopped", "its worker stops, or the story was taken from it"
    TIME = "time", "its time was up"
    IDLE = "idle", "no sign of life was seen for too long"
    NO_WRITE = "no_write", "it had written nothing"
    API_ERRORS = "api_errors", "the provider failed too often in a row"
    TOKENS = "tokens", "it had used the tokens that it was given"
    TURNS = "turns", "it had used the turns that it was given"
    MONEY = "money", "it had used the money that it was given"
    DENIED = "denied", "the same tool was denied twice in a row"
    HOOK = "hook", "the write pipeline did not answer, so none of its writes can be trusted"


Observation = tuple[Sign, dict[str, object]]
"""A sign and its facts."""
