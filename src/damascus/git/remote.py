"""A real forge's repository over HTTP: fetch, look at refs, and pushes that move all of their refs or none.

Every ref of a push carries its own `--force-with-lease=<ref>:<sha>`: the bare option would trust the remote-tracking
ref, which any fetch moves. git compares with what the server advertised, and the server compares again while it holds
its locks; so a story's fence ref must move in each of its pushes, or the server would not look at it.

The token is in the environment of that one git process alone, never in its arguments or the address. The user's git
config is read here (a proxy, a certificate), but it can neither redirect us, nor answer for us, nor run a hook.
"""

import base64
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from damascus.domain.errors import DamascusError, GitError, TransientError
from damascus.domain.failures import transient_git_output
from damascus.domain.ids import SHA_PATTERN, Sha
from damascus.domain.ports import Stale
from damascus.git import stores
from damascus.git.commands import GitResult, isolated_environment, run_git
from damascus.git.mirror import Mirror, RefMove

LOOK_LIMIT = 45.0
PUSH_LIMIT = 120.0
FETCH_LIMIT = 1800.0
"""The first fetch brings the whole history; a connection that is silent ends long before (http.lowSpeedTime)."""

PASSED_ON = (
    "HOME", "XDG_CONFIG_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO",
    "http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
)  # fmt: skip
NOT_ISOLATED = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
STALE = re.compile(
    r"stale info|but expected|reference already exists|incorrect old value|fetch first|non-fast-forward|"
    r"remote ref does not exist|unable to resolve reference",
    re.IGNORECASE,
)
PROTECTED = re.compile(r"protected branch|GH006|GH013|repository rule violations|branch .* is protected", re.IGNORECASE)
REFUSED = re.compile(
    r"authentication failed|could not read (username|password)|terminal prompts disabled|permission denied|"
    r"returned error: 40[13]|HTTP 40[13]|write access to repository not granted",
    re.IGNORECASE,
)
TRANSIENT = re.compile(
    r"returned error: 50\d|HTTP 50\d|internal server error|internal server connection error|rpc failed|"
    r"empty reply from server|recv failure|send failure|failed to connect|couldn't connect|"
    r"unexpected disconnect|expected flush|operation too slow|timed out|bad line length|protocol error",
    re.IGNORECASE,
)


class Protected(Exception):
    """The forge's branch protection refused the push: only its own merge can move that branch."""


@dataclass(frozen=True)
class Remote:
    """`url` is the plain address of the repository; `token` is asked for each call, so that it can be renewed."""

    mirror: Mirror
    url: str
    token: Callable[[], str] = field(repr=False)
    user: str = "damascus"

    def fetch(self, *, only: str | None = None) -> None:
        """Every head, or one, into refs/remotes/origin of the stories' store."""
        self.mirror.fetch_by(lambda args: self._fetched(args, self.mirror.store), self.url, only)

    def fetch_main(self, branch: str) -> None:
        """Main, into the mirror that agents may read."""
        stores.make(self.mirror.path)
        self.mirror.fetch_main_by(lambda args: self._fetched(args, self.mirror.path), self.url, branch)

    def _fetched(self, args: tuple[str, ...], git_dir: Path) -> GitResult:
        result = self._git(args, FETCH_LIMIT, git_dir)
        if result.code != 0 and "couldn't find remote ref" not in result.stderr:
            self._raise_unless_stale(args, result)
        return result

    def fetch_commit(self, commit: Sha) -> None:
        """One commit by its id, under no ref; LookupError if the forge does not have it."""
        quiet = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules")
        args = ("fetch", *quiet, self.url, commit)
        result = self._git(args, FETCH_LIMIT)
        if result.code != 0 and re.search(r"not our ref|couldn't find remote ref|no such remote ref", result.stderr):
            raise LookupError(f"the forge does not have the commit {commit}")
        if result.code != 0:
            self._raise(args, result)

    def ls_remote(self, *refs: str) -> dict[str, Sha]:
        """Where these refs are at this moment; one that is not there is left out."""
        args = ("ls-remote", "--quiet", "--refs", self.url, *refs)
        result = self._git(args, LOOK_LIMIT)
        if result.code != 0:
            self._raise(args, result)
        rows = (line.partition("\t") for line in result.text.splitlines())
        found = {ref: Sha(sha) for sha, _, ref in rows if SHA_PATTERN.fullmatch(sha)}
        return {ref: sha for ref, sha in found.items() if not refs or ref in refs}

    def push(self, moves: Sequence[RefMove]) -> None:
        """All or none, each only from what it was. Stale if one is something else, unless all are there already."""
        sent = [move for move in moves if move.new or move.old]
        leases = [f"--force-with-lease={move.ref}:{move.old or ''}" for move in sent]
        specs = [f"{move.new or ''}:{move.ref}" for move in sent]
        args = ("push", "--atomic", "--porcelain", "--no-verify", "--no-recurse-submodules", *leases, self.url, *specs)
        result = self._git(args, PUSH_LIMIT) if sent else None
        if result is not None and result.code == 0 and len(sent) == len(moves):
            return
        if result is not None and result.code != 0:
            self._raise_unless_stale(args, result)
        there = self.ls_remote(*(move.ref for move in moves))
        differing = [move.ref for move in moves if there.get(move.ref) != move.new]
        if differing:
            raise Stale(f"{', '.join(differing)} on the forge moved meanwhile")

    # ── git ───────────────────────────────────────────────────────────────────────────────────────────

    def _git(self, args: tuple[str, ...], limit: float, git_dir: Path | None = None) -> GitResult:
        where = git_dir or self.mirror.store
        result = run_git(args, self._environment(where), where, limit=limit)
        return GitResult(result.code, result.raw, _without_token(result.stderr, self.token()))

    def _environment(self, git_dir: Path) -> dict[str, str]:
        env = isolated_environment((str(self.mirror.path), str(self.mirror.store)))
        env = {name: value for name, value in env.items() if name not in NOT_ISOLATED}
        env |= {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        env |= {"GIT_DIR": str(git_dir), "GIT_ASKPASS": "", "SSH_ASKPASS": "", "GIT_TERMINAL_PROMPT": "0"}
        return with_settings(env, self._settings())

    def _settings(self) -> list[tuple[str, str]]:
        word = base64.b64encode(f"{self.user}:{self.token()}".encode()).decode()
        header = f"http.{self.url}.extraHeader"
        return [
            ("protocol.http.allow", "always"),
            ("protocol.https.allow", "always"),
            (f"url.{self.url}.insteadOf", self.url),  # the longest match wins: nothing sends us elsewhere
            (f"url.{self.url}.pushInsteadOf", self.url),
            ("http.followRedirects", "false"),
            ("http.lowSpeedLimit", "1"),
            ("http.lowSpeedTime", "30"),
            ("credential.helper", ""),
            ("push.pushOption", ""),
            ("push.gpgSign", "false"),
            (header, ""),
            (header, f"Authorization: Basic {word}"),
        ]

    def _raise_unless_stale(self, args: tuple[str, ...], result: GitResult) -> None:
        said = f"{result.text}\n{result.stderr}"
        if PROTECTED.search(said):
            raise Protected(_remote_words(result.stderr))
        if not STALE.search(said):
            self._raise(args, result)

    def _raise(self, args: tuple[str, ...], result: GitResult) -> None:
        said = f"{result.text}\n{result.stderr}"
        if REFUSED.search(said):
            raise DamascusError(
                f"the forge refused git {args[0]} at {self.url}: {_remote_words(result.stderr)}. "
                "Give the token the right to read and write the repository's code (docs/forges.md)."
            )
        if TRANSIENT.search(said) or transient_git_output(said):
            raise TransientError(f"git {args[0]}: {_remote_words(result.stderr)}")
        if "hook declined" in said:
            raise DamascusError(f"the forge refused git {args[0]} at {self.url}: {_remote_words(result.stderr)}.")
        raise GitError(args[:1], result.code, result.stderr)


def with_settings(env: Mapping[str, str], settings: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Git config of one process, after what its environment holds already; the last value counts."""
    count = int(env.get("GIT_CONFIG_COUNT", "0"))
    more = {"GIT_CONFIG_COUNT": str(count + len(settings))}
    for n, (key, value) in enumerate(settings, start=count):
        more |= {f"GIT_CONFIG_KEY_{n}": key, f"GIT_CONFIG_VALUE_{n}": value}
    return {**env, **more}


def _without_token(stderr: str, token: str) -> str:
    """What git said; should a server repeat the token, it is not repeated by us."""
    return stderr.replace(token, "***") if token else stderr


def _remote_words(stderr: str) -> str:
    """The server's own lines if it said something, else git's last one."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    said = [line.removeprefix("remote:").strip() for line in lines if line.startswith("remote:")]
    return " ".join(word for word in said if word) or (lines[-1] if lines else "no answer")
