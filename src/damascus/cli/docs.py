"""damascus docs: the pages that came with this Damascus."""

from pathlib import Path
from typing import Annotated

import typer

from damascus.cli.say import next_step, say
from damascus.domain.errors import DamascusError, UsageError

PACKAGE = Path(__file__).resolve().parents[1]


def docs(
    page: Annotated[str | None, typer.Argument(metavar="[PAGE]", help="Which one to print, as it is listed.")] = None,
) -> None:
    """List the documents, or print one.

    \b
    Example:  damascus docs spec
    """
    folder = folder_of_pages()
    pages = {path.relative_to(folder).with_suffix("").as_posix(): path for path in sorted(folder.rglob("*.md"))}
    if page is not None:
        say(_found(pages, page).read_text("utf-8").rstrip("\n"))
        return
    for name, path in pages.items():
        say(f"{name:<36}  {_title(path)}".rstrip())
    next_step("damascus docs start")


def folder_of_pages() -> Path:
    """In a wheel beside the code; in the source tree at its top."""
    for folder in (PACKAGE / "docs", PACKAGE.parents[1] / "docs"):
        if (folder / "spec.md").is_file():
            return folder
    raise DamascusError(f"this Damascus came without its documents (looked in {PACKAGE / 'docs'}). Reinstall it.")


def _found(pages: dict[str, Path], page: str) -> Path:
    name = page.removeprefix("docs/").removesuffix(".md")
    if name in pages:
        return pages[name]
    alike = [known for known in pages if known.rsplit("/", 1)[-1].lower() == name.lower()]
    if len(alike) == 1:
        return pages[alike[0]]
    meant = f" Did you mean {' or '.join(alike)}?" if alike else ""
    raise UsageError(f"there is no page {page!r}.{meant} See them all: damascus docs")


def _title(path: Path) -> str:
    lines = path.read_text("utf-8").splitlines()
    return next((line[2:].strip() for line in lines if line.startswith("# ")), "")
