"""How commands of go test are written: what selects by name, what ends at the first failure."""

import re

from damascus.stacks.stack import Habits, Later

BY_NAME = re.compile(r"(?<!\S)--?run(?:[ =]|$)")
STOPS = re.compile(r"(?<!\S)--?failfast(?!\S)")

HABITS = Habits(
    by_name=lambda command: BY_NAME.search(command) is not None,
    stops=lambda command, read: STOPS.search(command) is not None,
    explains=Later("damascus.stacks.go.constraints:explains"),
)
