"""unittest tells a test's file, class and name; they become the ids that pytest uses."""

from collections.abc import Iterator, Sequence

from damascus.domain.ports import Case
from damascus.stacks.cases import CUT_OFF, TreeAfterRun, below, status_of
from damascus.stacks.python.unittest_words import given
from damascus.stacks.told import ReportedCall, ReportedTest

UNENDED = "it did not run to its end"


class PythonCases:
    def cases(self, call: ReportedCall, tree: TreeAfterRun) -> Iterator[Case]:
        """A run that began and never ended has failed, whatever was told of its tests; so has such a test."""
        if call.runner != "unittest":
            return  # pytest's are in its JUnit file
        begun: dict[tuple[str, str], Case] = {}
        for told in call.tests:
            case = _case(call, told, tree)
            if told.status == "started":
                begun[told.file, told.name] = case.model_copy(update={"status": "error", "message": UNENDED})
            else:
                begun.pop((told.file, told.name), None)
                yield case
        yield from begun.values()
        if call.end is None:
            yield Case(id=CUT_OFF, status="error", message="unittest ended before its tests did")

    def places(self, call: ReportedCall, tree: TreeAfterRun) -> list[str]:
        """Files, patterns of files, and tests by name."""
        if call.runner != "unittest":
            return call.sources
        return given(call.words, call.folder, call.root, tree.locator)

    def of_all(self, calls: Sequence[ReportedCall]) -> Iterator[Case]:
        yield from ()


def _case(call: ReportedCall, told: ReportedTest, tree: TreeAfterRun) -> Case:
    """As pytest calls it: the file, the classes, the test; a file that could not be loaded by its path."""
    file = below(told.file, call.root)
    file = (tree.locator.path(file) or file) if file else ""
    name = "::".join(part for part in (file, told.name) if part)
    written = below(told.group, call.root)
    case = Case(id=name, status=status_of(told), file=file, text=told.name, message=told.message, written=written)
    return case if file else tree.locator.case(case)


CASES = PythonCases()
