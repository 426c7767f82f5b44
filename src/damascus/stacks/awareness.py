"""Code that knows it is tested: which lines of code that is no test refer to a runner or its variables."""

from damascus.stacks import stack_of
from damascus.stacks.reference import Reference
from damascus.stacks.written import READ_LIMIT

__all__ = ["Reference", "references_in"]


def references_in(source: bytes, path: str) -> list[Reference]:
    stack = stack_of(path)
    if stack is None or stack.awareness is None or len(source) > READ_LIMIT:
        return []
    return stack.awareness()(source, path)
