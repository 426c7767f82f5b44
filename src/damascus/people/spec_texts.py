"""Specs that come as text and not as a file: what an agent or a program hands over."""

from dataclasses import replace

from damascus.domain.errors import UsageError
from damascus.domain.spec import read_spec
from damascus.people.spec_files import NOTHING, SPEC_LIMIT, Ground, judged
from damascus.store.queueing import NewStory

UNNAMED = "the spec"


def story_of_text(ground: Ground, text: str, *, rough: bool) -> NewStory:
    """The story, or its first problem. Held-out tests lie beside a file, so only a file can name them."""
    raw = _bytes(text)
    spec, problems = read_spec(raw, UNNAMED, rough=rough)
    if spec is None or not spec.story or problems:
        raise UsageError(_with_end(problems[0] if problems else f"{UNNAMED} has no story id."))
    if spec.acceptance:
        raise UsageError(
            f"{spec.story}: acceptance names a folder beside the spec's file, and a text has none. Write the file, and "
            f"add that: damascus add FILE. {NOTHING}"
        )
    path = f"specs/{spec.story}.md"
    whole = str(ground.repository.top / path)  # wherever this process is
    story, problems = judged(ground, whole, raw, rough=rough)
    if story is None or problems:
        raise UsageError(_with_end(problems[0].replace(whole, path)))
    return replace(story, file=path)


def _bytes(text: str) -> bytes:
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{UNNAMED} has half a character in it. Write it in UTF-8. {NOTHING}") from None
    if len(raw) > SPEC_LIMIT:
        raise UsageError(f"{UNNAMED} is larger than {SPEC_LIMIT // 1_000_000} MB, too large for a spec. {NOTHING}")
    return raw


def _with_end(problem: str) -> str:
    return problem if NOTHING in problem else f"{problem} {NOTHING}"
