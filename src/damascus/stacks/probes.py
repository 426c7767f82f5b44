"""Which functions the tests of a run call: asked of the stack that can tell (`Stack.probe`)."""

from collections.abc import Iterable

from damascus.stacks import stack_of
from damascus.stacks.coverage import Measuring
from damascus.stacks.python.probe.reading import ProbeReport, PythonProbe

__all__ = ["ProbeReport", "PythonProbe", "probe_for", "probe_of", "probed"]


def probed(path: str) -> bool:
    """Can be told which tests call the functions of this file?"""
    stack = stack_of(path)
    return stack is not None and stack.probe is not None


def probe_for(paths: Iterable[str]) -> PythonProbe | None:
    """A new probe, where one of these files is of a stack that has one."""
    return probe_of(Measuring.of(path for path in paths if probed(path)))


def probe_of(measuring: Measuring) -> PythonProbe | None:
    """The one among these that tells calls, too."""
    return next((one for one in measuring.probes.values() if isinstance(one, PythonProbe)), None)
