"""A Gitea of one's own on loopback, with runners in host mode: for `damascus forge try` and for the tests.

    server = GiteaServer.start(folder, find_programs(os.environ))
    server.create_repository("calc")
    server.start_runner()
    …
    server.stop()

Below `folder`: `server.json` (who runs, with the user's password and token: ours alone), `gitea` and `runner-…` with
what each of them writes, and their logs. A start in a folder that was used before finds everything as it was.
"""

import json
import os
import re
import secrets
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx

from damascus.domain.errors import DamascusError
from damascus.git.remote import with_settings
from damascus.system.daemon import Daemon
from damascus.system.ports import is_free
from damascus.system.replacing import PRIVATE, replace_file
from damascus.trial_forge.process import spawn
from damascus.trial_forge.programs import Account, Programs, account_of, as_user, give, reachable_programs
from damascus.trial_forge.settings import LABELS, GiteaSettings, free_port, runner_settings

USER = "damascus"
PATIENCE = 60.0
POLL = 0.02
MERGES = {"has_actions": True, "has_pull_requests": True, "allow_fast_forward_only_merge": True,
          "allow_manual_merge": True}  # fmt: skip


@dataclass
class GiteaServer:
    """Its address, its one user (an administrator) and that user's token."""

    folder: Path
    programs: Programs
    settings: GiteaSettings
    account: Account
    user: str = USER
    password: str = ""
    token: str = ""
    tied: bool = False
    gitea: Daemon | None = None
    runners: dict[str, Daemon] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.settings.port}"

    @property
    def version(self) -> str:
        return self.programs.version

    # ── start and end ─────────────────────────────────────────────────────────────────────────────────

    @classmethod
    def start(
        cls, folder: Path, programs: Programs, *, port: int = 0, tied: bool = False, zombie_seconds: int = 600
    ) -> "GiteaServer":
        """A healthy server with its user and token. `port` 0: the one from last time, at first any that is free.

        `zombie_seconds`: how long a job of a dead runner stays "running".
        """
        folder.mkdir(parents=True, exist_ok=True)
        account = account_of(folder)
        found = cls.open(folder, programs)
        if found and found.running:
            raise DamascusError(f"a forge is already running at {found.url}. Use it, or stop it: damascus forge stop")
        usable = reachable_programs(programs, account)
        server = found or cls(folder, usable, GiteaSettings.new(zombie_seconds), account)
        server.tied = tied
        server._choose_port(port)
        server._prepare()
        server._serve()
        return server

    @classmethod
    def open(cls, folder: Path, programs: Programs) -> "GiteaServer | None":
        """The server of this folder, whoever started it; None where there never was one."""
        try:
            told = json.loads((folder / "server.json").read_text())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as err:
            raise DamascusError(f"{folder / 'server.json'} can't be read ({err}). Remove {folder}.") from None
        account = account_of(folder)
        return cls(
            folder, reachable_programs(programs, account), GiteaSettings(**told["settings"]), account,
            user=told["user"], password=told["password"], token=told["token"],
            gitea=Daemon(**told["gitea"]) if told["gitea"] else None,
            runners={name: Daemon(**child) for name, child in told["runners"].items()},
        )  # fmt: skip

    @property
    def running(self) -> bool:
        return self.gitea is not None and self.gitea.alive

    def stop(self) -> None:
        for name in list(self.runners):
            self.stop_runner(name)
        self.stop_gitea()

    def stop_gitea(self, *, kill: bool = False) -> None:
        """The forge is away; its runners wait for it."""
        if self.gitea:
            self.gitea.kill() if kill else self.gitea.end()
        self.gitea = None
        self._note()

    def restart(self, *, kill: bool = False) -> None:
        """The same address, and everything that was there."""
        self.stop_gitea(kill=kill)
        self._serve()

    # ── runners ───────────────────────────────────────────────────────────────────────────────────────

    def start_runner(
        self, name: str = "one", labels: tuple[str, ...] = LABELS, *, environ: Mapping[str, str] | None = None
    ) -> None:
        """In host mode: its jobs see `environ` (PATH, LANG, TZ of ours by default), and a home of their own."""
        folder = give(self.folder / f"runner-{name}", self.account.runner)
        home = give(folder / "home", self.account.runner)
        shown = {key: os.environ[key] for key in ("PATH", "LANG", "TZ") if key in os.environ}
        given = {**shown, "HOME": str(home), "USER": USER, "LOGNAME": USER, **(environ or {})}
        config = folder / "config.yaml"
        self.write_private(config, runner_settings(labels, folder / "work"), self.account.runner)
        if not (folder / ".runner").exists():
            self._register(name, folder, given)
        self.runners[name] = spawn(
            [str(self.programs.runner), "daemon", "--config", str(config)], folder, given, self.account.runner,
            log=self.folder / f"runner-{name}.log", tied=self.tied,
        )  # fmt: skip
        self._note()

    def stop_runner(self, name: str = "one", *, kill: bool = False) -> None:
        """`kill`: the runner and the job it works on are gone without a word."""
        child = self.runners.pop(name, None)
        if child:
            child.kill() if kill else child.end()
        self._note()

    def _register(self, name: str, folder: Path, environ: Mapping[str, str]) -> None:
        """The token comes through stdin: a process list shows arguments to everybody."""
        argv = [str(self.programs.runner), "register", "--config", "config.yaml", "--instance", self.url,
                "--name", name]  # fmt: skip
        given = ("stdin", "start_new_session")
        how = {key: value for key, value in as_user(self.account.runner).items() if key not in given}
        try:
            done = subprocess.run(
                argv, cwd=folder, env=dict(environ), input=f"{self.settings.registration}\n", text=True,
                capture_output=True, timeout=PATIENCE, start_new_session=True, **how,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise DamascusError(f"the runner could not register at {self.url} for {PATIENCE:.0f} s.") from None
        if not (folder / ".runner").exists():
            raise DamascusError(f"the runner could not register at {self.url}: {_last_line(done.stderr)}")

    # ── repositories ──────────────────────────────────────────────────────────────────────────────────

    def create_repository(self, name: str, *, empty: bool = False, private: bool = False, main: str = "main") -> str:
        """The address of a repository of our user with Actions and both ways to land; with one commit on main
        unless `empty`. One that is there already stays as it is."""
        wanted = {"name": name, "private": private, "auto_init": not empty, "default_branch": main}
        made = self.api("POST", "/user/repos", wanted, allowed=(409,))
        if made.status_code != 409 or not self.api("GET", f"/repos/{self.user}/{name}").json()["has_actions"]:
            self.set_repository(name, **MERGES)
        return f"{self.url}/{self.user}/{name}"

    def set_repository(self, name: str, **settings: object) -> None:
        """Its settings as the API calls them: has_actions, allow_manual_merge, …"""
        self.api("PATCH", f"/repos/{self.user}/{name}", settings)

    def api(self, method: str, path: str, body: object = None, *, allowed: tuple[int, ...] = ()) -> httpx.Response:
        """One call as our user; `allowed` are the refusals that the caller knows what to do with."""
        headers = {"Authorization": f"token {self.token}"}
        with httpx.Client(trust_env=False, timeout=PATIENCE, headers=headers) as client:
            answer = client.request(method, f"{self.url}/api/v1{path}", json=body)
        if answer.is_error and answer.status_code not in allowed:
            raise DamascusError(f"Gitea refused {method} {path}: {answer.status_code} {answer.text[:300]}")
        return answer

    def new_token(self, scopes: tuple[str, ...]) -> str:
        """A further token of our user, with no more rights than these."""
        made = self._gitea("admin", "user", "generate-access-token", "--username", self.user,
                           "--token-name", f"damascus-{secrets.token_hex(4)}", "--scopes", ",".join(scopes),
                           "--raw")  # fmt: skip
        return _answer_in(r"^([0-9a-f]{40})$", made)

    def git_settings(self) -> list[tuple[str, str]]:
        """What lets a git process of ours act as the user: the token is in no argument, file or address."""
        return [
            ("protocol.http.allow", "always"),
            (f"http.{self.url}/.extraHeader", f"Authorization: token {self.token}"),
        ]

    def git_environment(self) -> dict[str, str]:
        return with_settings({"GIT_TERMINAL_PROMPT": "0"}, self.git_settings())

    def ci_runners(self) -> list[dict[str, Any]]:
        """Every runner that the server knows, with its status (idle, active, offline) and labels."""
        found: list[dict[str, Any]] = self.api("GET", "/admin/actions/runners").json()["runners"]
        return found

    def write_private(self, path: Path, text: str, number: int | None = None) -> None:
        """Aside and renamed, readable by its owner alone."""
        replace_file(path, text, mode=PRIVATE, owner=number)

    # ── inside ────────────────────────────────────────────────────────────────────────────────────────

    @property
    def _place(self) -> Path:
        return self.folder / "gitea"

    @property
    def log(self) -> Path:
        return self.folder / "gitea.log"

    def _choose_port(self, wanted: int) -> None:
        """Another than last time: its runners must learn the new address."""
        port = wanted or self.settings.port or free_port()
        if port != self.settings.port:
            for known in self.folder.glob("runner-*/.runner"):
                known.unlink()
        if not is_free(port):
            raise DamascusError(f"port {port} is taken on this machine. Choose another: --port N")
        self.settings = replace(self.settings, port=port)

    def _prepare(self) -> None:
        """Settings anew, database and user once: the record is written last."""
        self.folder.chmod(0o711 if self.account.server is not None else 0o700)
        for part in ("", "home", "custom", "custom/conf", "data"):
            give(self._place / part, self.account.server)
        text = self.settings.text(self._place, self.programs.static)
        self.write_private(self._place / "custom/conf/app.ini", text, self.account.server)
        if self.token:
            return
        self._gitea("migrate")
        address = f"{self.user}@example.invalid"
        made = self._gitea("admin", "user", "create", "--username", self.user, "--email", address, "--admin",
                           "--random-password", "--must-change-password=false")  # fmt: skip
        self.password = _answer_in(r"generated random password is '(.+)'", made)
        self.token = self.new_token(("all",))
        self._note()

    def _serve(self) -> None:
        argv = [str(self.programs.gitea), "web"]
        self.gitea = spawn(argv, self._place, self._environ(), self.account.server, log=self.log, tied=self.tied)
        self._note()
        self._until(self._healthy, f"Gitea did not answer for {PATIENCE:.0f} s. Its log: {self.log}")

    def _healthy(self) -> bool:
        if not self.running:
            raise DamascusError(f"Gitea ended at its start: {_last_line(self.log.read_text(errors='replace'))}")
        with suppress(httpx.HTTPError):
            with httpx.Client(trust_env=False, timeout=2.0) as client:
                return client.get(f"{self.url}/api/healthz").status_code == 200
        return False

    def _until(self, condition: Callable[[], bool], sorry: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > deadline:
                raise DamascusError(sorry)
            time.sleep(POLL)

    def _gitea(self, *words: str) -> str:
        done = subprocess.run(
            [str(self.programs.gitea), *words], cwd=self._place, env=self._environ(), capture_output=True, text=True,
            timeout=PATIENCE, **as_user(self.account.server),
        )  # fmt: skip
        if done.returncode != 0:
            raise DamascusError(f"gitea {words[0]} failed: {_last_line(done.stderr or done.stdout)}")
        return str(done.stdout)

    def _environ(self) -> dict[str, str]:
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self._place / "home"),
            "USER": USER,
            "GITEA_WORK_DIR": str(self._place),
            "GITEA_RUNNER_REGISTRATION_TOKEN": self.settings.registration,
        }

    def _note(self) -> None:
        told: dict[str, Any] = {
            "url": self.url, "user": self.user, "password": self.password, "token": self.token,
            "settings": asdict(self.settings), "gitea": asdict(self.gitea) if self.gitea else None,
            "runners": {name: asdict(child) for name, child in self.runners.items()},
        }  # fmt: skip
        self.write_private(self.folder / "server.json", json.dumps(told))


def _answer_in(pattern: str, said: str) -> str:
    """Its log may stand around the answer."""
    found = re.search(pattern, said, re.MULTILINE)
    if not found:
        raise DamascusError("`gitea admin user` answered in a way that this version should not.")
    return found.group(1)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "it printed nothing"
