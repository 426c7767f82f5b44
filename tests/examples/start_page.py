"""docs/start.md as a newcomer types it: every command of the page, in its order, with the real program.

python -m tests.examples.start_page       runs the page in a new folder and puts what was printed into it
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "start.md"
FENCED = re.compile(r"^(`{3,4})(\w+)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
OURS = re.compile(r"/tmp/(?=calc|first-try|agent\.py)")
PERSON = ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME")

DIFFERS = (
    (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "UUID"),
    (r"\b(\d{4}-\d\d-\d\d )?\d\d:\d\d(:\d\d)?\b", "TIME"),
    (r"\b\d+(\.\d+)? (s|min)\b", "A WHILE"),
    (r"\b(?=[0-9a-f]*\d)[0-9a-f]{7,40}\b", "COMMIT"),
    (r"git version \S+", "git version N"),
    (r"PostgreSQL [\d.]+,", "PostgreSQL N,"),
    (r"[\d,]+ MB free", "N MB free"),
    (r"confined by \w+|agents run unconfined", "CONFINED"),
    (r"(ok|note|warn) +(agent|sandbox) .*(\n {10,}.*)*", r"\2"),
)
PASSING = re.compile(r"^TIME  S-\d  (build|review|merge): .*\n", re.MULTILINE)
"""What `run` tells on its way depends on when it looks; how a story ends does not."""


@dataclass(frozen=True)
class Shown:
    """One block of the page: the command, and what stands below it."""

    command: str
    output: str


def blocks(text: str) -> Iterator[tuple[str, str]]:
    for found in FENCED.finditer(text):
        yield found[2], found[3]


def shown(block: str) -> list[Shown]:
    """Each command of a block with its output."""
    parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)
    assert not parts[0], block
    return [Shown(command, output) for command, output in zip(parts[1::2], parts[2::2], strict=True)]


class Newcomer:
    """Someone with an empty folder, a git identity and `damascus` on the PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        person = dict.fromkeys(PERSON, "Ada") | {
            name.replace("NAME", "EMAIL"): "ada@example.invalid" for name in PERSON
        }
        # Ours first, unlike the page: not every machine's python3 has pytest, and the newcomer's has.
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.environ = {"PATH": path, "HOME": str(folder), "DAMASCUS_HOME": str(folder / "calc-data"), "COLUMNS": "120"}
        self.environ["DAMASCUS_LIMITS_LOAD_PER_CORE"] = "0"  # a newcomer's machine has nothing else to do
        self.environ |= person | {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}

    def types(self, command: str) -> str:
        """What it prints, as if the folder were /tmp. `export` is ours already."""
        if command.startswith("export "):
            return ""
        repo = self.folder / "calc"
        done = subprocess.run(
            ["sh", "-c", OURS.sub(f"{self.folder}/", command)], cwd=repo if repo.exists() else self.folder,
            env=self.environ, capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        return (done.stdout + done.stderr).replace(f"{self.folder}/", "/tmp/")

    def saves(self, language: str, text: str) -> None:
        """The page's two files, under the names that it gives them."""
        name = {"markdown": "calc/specs/S-1.md", "python": "agent.py"}[language]
        (self.folder / name).write_text(text)


def alike(output: str) -> str:
    """An output without what differs from one run to the next."""
    for pattern, word in DIFFERS:
        output = re.sub(pattern, word, output)
    return " ".join(PASSING.sub("", output).split())


def make_anew(folder: Path) -> str:
    """The page with the outputs of today."""
    newcomer, text = Newcomer(folder), PAGE.read_text("utf-8")

    def block(found: re.Match[str]) -> str:
        if found[2] != "console":
            newcomer.saves(found[2], found[3])
            return found[0]
        told = "".join(f"$ {each.command}\n{newcomer.types(each.command)}" for each in shown(found[3]))
        return f"{found[1]}console\n{told}{found[1]}"

    return FENCED.sub(block, text)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="damascus-start-") as place:
        PAGE.write_text(make_anew(Path(place)), "utf-8")
