"""One story finds nothing of another's, and holds nobody up, whatever it opens."""

from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path

import pytest

from damascus.domain.ids import Sha, StoryId
from damascus.system.sandbox import Level
from tests.levels import as_if_here, need
from tests.yard import CONFIG, HONEST, Yard, story

SECRET = "swordfish-of-S-9"
ANOTHER = StoryId("S-9")
CONFINED = [Level.BUBBLEWRAP, Level.LANDLOCK]

SEARCH = (
    """
import fcntl, resource, zlib
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
SECRET = "-".join(["swordfish", "of", "S", "9"]).encode()
TOOLCHAIN = tuple(os.path.realpath(x) for x in ("/proc", "/sys", "/usr", "/lib", "/etc", "/opt", sys.prefix,
                                               sys.base_prefix, os.path.dirname(os.path.dirname(sys.executable))))
held, found = [], []

def look(path):
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        held.append(handle)
        data = os.read(handle, 5_000_000)
    except OSError:
        return
    finally:
        if len(held) > most - 50:
            os.close(held.pop(0))
    texts = [path.encode(errors="replace"), data]
    try:
        texts.append(zlib.decompress(data))
    except zlib.error:
        pass
    if any(SECRET in text for text in texts) or "S-9" in path:
        found.append(path)

def ask(folder):
    if os.path.isdir(os.path.join(folder, "objects")):
        args = ["git", "--git-dir", folder, "-c", "safe.directory=*", "cat-file", "--batch-all-objects", "--batch"]
        if SECRET in subprocess.run(args, capture_output=True).stdout:
            found.append(f"objects of {folder}")

borrowed = pathlib.Path(".git/objects/info/alternates").read_text().split()
seen = set()
for root in [os.environ["HERE"], os.getcwd(), *borrowed, *pathlib.Path(borrowed[0]).parents[:4]]:
    for folder, folders, files in os.walk(root):
        if folder in seen:
            folders[:] = []
            continue
        seen.add(folder)
        folders[:] = [f for f in folders if not os.path.realpath(os.path.join(folder, f)).startswith(TOOLCHAIN)]
        look(folder)
        ask(folder)
        for name in files:
            look(os.path.join(folder, name))
"""
    + HONEST
    + """
if found:
    pathlib.Path(f"{name}.py").write_text(f"FOUND = {sorted(found, key=len)[:40]!r}\\n")
"""
)


def planted(tmp_path: Path, url: str, config: str = CONFIG) -> Yard:
    """A yard in which another story's snapshot has a secret in an ignored file and in a tracked one."""
    yard = Yard(tmp_path, url, config=config)
    tools = yard.tools()
    base = tools.forge.main_tip()
    space = tools.workspaces.create(ANOTHER, base)
    (space.path / "calc.py").write_text(f"# {SECRET}\n")
    (space.path / ".env").write_text(f"KEY={SECRET}\n")
    (space.path / ".gitignore").write_text(".env\n")
    saved = tools.snapshots.save(space.path, ANOTHER, run_no=1, step="x", fence=1, base=base)
    assert saved is not None
    tools.forge.move("feat/S-9", saved.commit, None)
    return yard


def searching(yard: Yard, then: str = "") -> str:
    """It knows where to look: the folder with the repository, the data folder and everything."""
    return yard.agent(SEARCH.replace('os.environ["HERE"]', repr(str(yard.folder))) + then)


def walls(level: Level) -> AbstractContextManager[None]:
    need(level)
    return nullcontext() if level is Level.BUBBLEWRAP else as_if_here(level)


def found_by(yard: Yard, name: str) -> str:
    """What the agent wrote instead of its work, because it found something."""
    [row] = yard.query("SELECT output FROM journal WHERE step = 'implement' ORDER BY run_no DESC LIMIT 1")
    assert row["output"] and row["output"]["commit"], yard.item(name)["last_feedback"]
    commit = Sha(row["output"]["commit"])
    return (yard.project.mirror.read(commit, f"{name.lower().replace('-', '')}.py") or b"").decode()


@pytest.mark.req("W9", "D4", "X5")
@pytest.mark.parametrize("level", CONFINED)
def test_an_agent_finds_nothing_of_another_story(tmp_path: Path, database_url: str, level: Level) -> None:
    confined = walls(level)
    yard = planted(tmp_path, database_url)
    yard.add(story("S-1"), budget=1)
    with confined:
        yard.work(searching(yard))
    assert "FOUND" not in found_by(yard, "S-1"), found_by(yard, "S-1")
    assert yard.item("S-1")["phase"] == "done"


@pytest.mark.req("W9")
def test_without_walls_the_same_search_finds_it(tmp_path: Path, database_url: str) -> None:
    """The control: where nothing confines, what is in the store is found."""
    yard = planted(tmp_path, database_url)
    yard.add(story("S-1"), budget=1)
    with as_if_here(Level.UNCONFINED):
        yard.work(searching(yard))
    assert "stories.git" in found_by(yard, "S-1")


@pytest.mark.req("W9", "D15")
@pytest.mark.parametrize("level", CONFINED)
def test_whatever_an_agent_locks_nobody_waits(tmp_path: Path, database_url: str, level: Level) -> None:
    """It holds every file that it can open until another story has landed. Set-up is among what both need."""
    confined = walls(level)
    yard = planted(
        tmp_path, database_url, f'{CONFIG}[workspace]\nsetup = "mkdir -p .tox && echo made > .tox/made.txt"\n'
    )
    yard.add(story("S-1"), story("S-2"))
    waits = """
if brief["story_id"] == "S-1":
    until = time.time() + 50
    while not os.path.exists("go") and time.time() < until:
        time.sleep(0.05)
    os.unlink("go")
"""

    def go_on(step: str, when: str) -> None:
        if (step, when) == ("land", "after_done"):
            with suppress(OSError):
                (yard.project.worktrees / "S-1/go").touch()

    with confined:
        yard.work(searching(yard, waits), boundary=go_on)
    assert [yard.item(name)["phase"] for name in ("S-1", "S-2")] == ["done", "done"], [
        yard.item(name)["last_feedback"] for name in ("S-1", "S-2")
    ]
    assert yard.subjects()[0] != yard.subjects()[1]
    assert "S-2" in yard.subjects()[1], "the honest one first"
