"""What a tool answers: data in bounds, or the sentence that the command line says."""

import functools
import json
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec

from mcp.server.mcpserver.exceptions import ToolError

from damascus.domain.errors import DamascusError, GitError, TransientError
from damascus.people.bounded import TextBounds, for_agent
from damascus.people.bug_reports import saved_traceback
from damascus.system.masking import own_keys
from damascus.telling.phrases import one_line

P = ParamSpec("P")
Value = dict[str, Any]
WHOLE = 60_000
"""Characters of one answer: a context is short, and what is left out is said."""
NARROWER = (TextBounds(), TextBounds(600, 60), TextBounds(150, 15), TextBounds(40, 4))
BUG = "This is a bug in Damascus. Its traceback is in the logs folder of the data folder."


def told(tool: Callable[P, Mapping[str, Any]]) -> Callable[P, Value]:
    """A tool's answer in bounds; what a person can cause is told as such, and a bug never as its traceback."""

    @functools.wraps(tool)
    def answer(*args: P.args, **kwargs: P.kwargs) -> Value:
        try:
            return fitting(tool(*args, **kwargs))
        except (DamascusError, TransientError, GitError) as err:
            raise ToolError(one_line(str(err))) from None
        except ToolError:
            raise
        except Exception:
            saved_traceback()
            raise ToolError(BUG) from None

    return answer


def fitting(value: Mapping[str, Any]) -> Value:
    """As much of every text and list as fits the whole."""
    keys = own_keys()
    found: Value = {}
    for bounds in NARROWER:
        found = for_agent(value, keys, bounds)
        if len(json.dumps(found)) <= WHOLE:
            break
    return found
