"""What a repository needs to be worked on a forge: [forge] in damascus.toml, and a workflow for the forge's CI."""

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from damascus.domain.config import Config, parse_config
from damascus.domain.errors import DamascusError
from damascus.domain.scope import SETTINGS_FILE

WORKFLOWS = ".gitea/workflows"
WORKFLOW = f"{WORKFLOWS}/ci.yml"
QUEUE_BRANCHES = "mq/**"

FORGE = """
[forge]
# The forge of `damascus forge try`. The token is in a file that only you can read.
kind = "gitea"
url = {url}
token_file = {token_file}
"""

HEAD = """\
# Every commit of a story, of the merge queue and of {main} is tested once, when it is pushed. No action from elsewhere
# is used: the commit is fetched by git, with the token that the forge gives to this one job.
on:
  push:
    branches: [{branches}]

jobs:
"""

JOB = """\
  {id}:
    name: {name}
    runs-on: ubuntu-latest
    steps:
      - name: check out
        env:
          GIT_CONFIG_COUNT: 1
          GIT_CONFIG_KEY_0: http.extraHeader
          GIT_CONFIG_VALUE_0: "Authorization: token ${{{{ github.token }}}}"
        run: |
          git init --quiet .
          git fetch -q --depth 1 "${{{{ github.server_url }}}}/${{{{ github.repository }}}}" "${{{{ github.sha }}}}"
          git checkout --quiet FETCH_HEAD
{setup}      - name: {name}
        run: |
{command}
"""

SETUP = """\
      - name: set up
        run: |
{command}
"""


@dataclass(frozen=True)
class FileEdit:
    """What was done to a file; `changed` files have to be committed."""

    path: str
    told: str
    changed: bool


def add_forge(top: Path, url: str, token_file: Path) -> FileEdit:
    """Appended once. A [forge] that is there is the user's, and stays as it is."""
    file = top / SETTINGS_FILE
    text = file.read_text("utf-8") if file.exists() else ""
    wanted = {"kind": "gitea", "url": url, "token_file": str(token_file)}
    found = tomllib.loads(text).get("forge") if parse_config(text) else None
    if found == wanted:
        return FileEdit(SETTINGS_FILE, "has this forge already", changed=False)
    section = FORGE.format(url=_quoted(url), token_file=_quoted(str(token_file)))
    if found is not None:
        raise DamascusError(
            f"{SETTINGS_FILE} has another [forge] already, so nothing was changed. To use this one, put "
            "this in its place:\n"
            + "\n".join(line for line in section.strip().splitlines() if not line.startswith("#"))
        )
    joined = f"{text.rstrip()}\n{section}" if text.strip() else section.lstrip()
    parse_config(joined)
    file.write_text(joined, "utf-8")
    return FileEdit(SETTINGS_FILE, "[forge] added", changed=True)


@dataclass(frozen=True)
class Ci:
    """What the forge's CI has to do: `setup` prepares each checkout, as it does those of Damascus."""

    jobs: Mapping[str, str]
    setup: str = ""


def add_workflow(top: Path, ci: Ci, main: str, prefix: str) -> FileEdit:
    """Where the repository has none for this forge: those of `.github` ask for actions from elsewhere."""
    folder, file = top / WORKFLOWS, top / WORKFLOW
    if folder.is_dir() and any(folder.iterdir()):
        return FileEdit(WORKFLOWS, "kept as it is", changed=False)
    folder.mkdir(parents=True, exist_ok=True)
    file.write_text(workflow_text(ci, main, prefix), "utf-8")
    told = f"written, with the job {' and '.join(ci.jobs)}" + (", after [workspace] setup" if ci.setup else "")
    return FileEdit(WORKFLOW, told, changed=True)


def workflow_text(ci: Ci, main: str, prefix: str) -> str:
    branches = ", ".join(_quoted(name) for name in (main, f"{prefix}**", QUEUE_BRANCHES))
    head = HEAD.format(main=main, branches=branches)
    return head + "\n".join(_job(name, command, ci.setup) for name, command in ci.jobs.items())


def _job(name: str, command: str, setup: str) -> str:
    known_as = re.sub(r"[^A-Za-z0-9_-]", "-", name)
    job_id = known_as if known_as[:1].isalpha() else f"job-{known_as}"
    before = SETUP.format(command=_indented(setup)) if setup.strip() else ""
    return JOB.format(id=job_id, name=_quoted(name), command=_indented(command), setup=before)


def _indented(command: str) -> str:
    return "\n".join(f"          {line}".rstrip() for line in command.strip().splitlines())


def jobs_of(config: Config, command: str | None) -> dict[str, str]:
    """Those of [ci.jobs]; else one job `test` with the stack's own command."""
    return dict(config.ci.jobs) or {"test": command or "make test"}


def _quoted(text: str) -> str:
    """Both TOML and YAML read JSON's strings."""
    return json.dumps(text, ensure_ascii=False)
