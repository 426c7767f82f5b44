"""All lying agents, in the order of docs/lying-agents.md."""

from tests.lying_agents import about_work
from tests.lying_agents.lie import Lie

LIES: tuple[Lie, ...] = (*about_work.LIES,)
