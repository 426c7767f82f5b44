"""A small GitHub on loopback: its documented REST API over a real bare repository that `git http-backend` serves.

It has GitHub's habits that an adapter must live with: one open pull per head, 422 with reasons, a pull that is marked
as merged a moment after its head was pushed to main, logs on another host, and a push that a rule refuses. `lose` drops
the answer to a request after its effect.
"""

import base64
import json
import os
import re
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from damascus.domain.ids import Sha
from tests.user_repository import UserRepository, git_as_user

TOKEN = "a-token-of-the-test"
API = "/api/v3/repos/example/repo"
USER = "/api/v3/user"
GIT = "/example/repo.git"
MERGED_AT = "2026-01-01T00:00:00Z"
RULE = """#!/bin/sh
[ "$1" != refs/heads/main ] && exit 0
echo "error: GH006: Protected branch update failed for $1." >&2
echo "error: Changes must be made through a pull request." >&2
exit 1
"""


class No(Exception):
    """An answer that is no success."""

    def __init__(self, status: int, message: str, *errors: Mapping[str, str]) -> None:
        self.status = status
        self.body = {"message": message, "errors": list(errors), "status": str(status)}


class ScriptedGithub:
    """The repository example/repo, its pulls, comments, check runs and workflow runs."""

    def __init__(self, folder: Path) -> None:
        self.person = UserRepository.create(folder / "person", {"base.py": "1\n"})
        self.bare = folder / "served" / "example" / "repo.git"
        git_as_user(folder, "clone", "-q", "--bare", str(self.person.top), str(self.bare))
        for key in ("http.receivepack", "uploadpack.allowAnySHA1InWant"):
            self.git("config", key, "true")
        self.person.git("remote", "add", "origin", str(self.bare))
        self.marked_after = 0
        """So many looks at a pull pass before it is marked as merged."""
        self.lost: list[re.Pattern[str]] = []
        self.asked: list[str] = []
        self.pulls: dict[int, dict[str, Any]] = {}
        self.comments: dict[int, list[dict[str, Any]]] = {}
        self.statuses: dict[str, dict[str, Any]] = {}
        """By commit the newest of the context `damascus`."""
        self.login = "example"
        self.refused: set[str] = set()
        """Of `comments`, `statuses`, `user`: what the token may not."""
        self.checks: list[dict[str, Any]] = []
        self.runs: dict[int, dict[str, Any]] = {}
        self.commands: dict[int, str] = {}
        self.logs: dict[int, str] = {}
        self.ids = count(1)
        self.lock = threading.RLock()
        self.url = ""
        self.issues: Callable[[Mapping[str, str]], list[dict[str, Any]]] = lambda _: []
        """A page of issues for a query."""

    # ── past the API ──────────────────────────────────────────────────────────────────────────────────

    def git(self, *args: str, check: bool = True) -> str:
        return git_as_user(self.bare, *args, check=check)

    def at(self, ref: str) -> Sha | None:
        found = self.git("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}", check=False)
        return Sha(found) if found else None

    def on_main(self, commit: str) -> bool:
        return self.git("merge-base", commit, "refs/heads/main", check=False) == commit

    def person_commits(self, files: Mapping[str, str]) -> Sha:
        self.person.git("fetch", "-q", "origin", "main")
        self.person.git("reset", "-q", "--hard", "FETCH_HEAD")
        commit = self.person.commit(files)
        self.person.git("push", "-q", "origin", "HEAD:refs/heads/main")
        return commit

    def protect_main(self) -> None:
        hook = self.bare / "hooks" / "update"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(RULE)
        hook.chmod(0o755)

    def lose(self, request: str) -> None:
        """The next request like this has its effect, and no answer."""
        self.lost.append(re.compile(request))

    # ── Actions ───────────────────────────────────────────────────────────────────────────────────────

    def run_workflow(self, commit: Sha, jobs: Mapping[str, str]) -> None:
        """A runner that takes every job at once; its commands see the commit and nothing else."""
        number = 29679449 + len(self.runs)
        self.runs[number] = {
            "id": number, "name": "CI", "head_sha": commit, "status": "completed", "check_suite_id": number + 1,
            "conclusion": None, "event": "push",
        }  # fmt: skip
        for name, command in jobs.items():
            check: dict[str, Any] = {
                "id": 399444496 + len(self.checks), "head_sha": commit, "name": name, "status": "completed",
                "conclusion": None, "check_suite": {"id": number + 1}, "app": {"slug": "github-actions"},
                "output": {"title": None}, "run_id": number,
            }  # fmt: skip
            self.checks.append(check)
            self.commands[check["id"]] = command
            self.run_job(check)

    def run_job(self, check: dict[str, Any]) -> None:
        commit, number = check["head_sha"], check["id"]
        folder = self.bare.parent / f"job-{number}"
        folder.mkdir(exist_ok=True)
        place = (f"--git-dir={self.bare}", f"--work-tree={folder}")
        git_as_user(folder, *place, "checkout", "-q", "-f", commit, "--", ".")
        done = subprocess.run(
            ["sh", "-c", self.commands[number]], cwd=folder, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self.logs[number] = done.stdout
        check["conclusion"] = "success" if done.returncode == 0 else "failure"
        own = [each["conclusion"] for each in self.checks if each["run_id"] == check["run_id"]]
        self.runs[check["run_id"]]["conclusion"] = "success" if set(own) == {"success"} else "failure"

    # ── REST ──────────────────────────────────────────────────────────────────────────────────────────

    def rest(self, method: str, path: str, query: Mapping[str, str], body: dict[str, Any]) -> tuple[int, Any]:
        for known, pattern, act in ROUTES:
            found = re.fullmatch(pattern, path)
            if known == method and found:
                return act(self, found.groups(), query, body)
        raise No(404, f"Not Found: {method} {path}")

    def list_pulls(self, _: tuple[str, ...], query: Mapping[str, str], __: object) -> tuple[int, Any]:
        rows = [self.seen(row) for row in sorted(self.pulls.values(), key=lambda row: -row["number"])]
        return 200, [row for row in rows if row["head"]["label"] == query["head"]]

    def open_pull(self, _: tuple[str, ...], __: object, body: dict[str, Any]) -> tuple[int, Any]:
        head, base = body["head"], body["base"]
        commit = self.at(f"refs/heads/{head}")
        if commit is None:
            raise No(422, "Validation Failed", {"resource": "PullRequest", "field": "head", "code": "invalid"})
        if any(row["head"]["ref"] == head and row["state"] == "open" for row in self.pulls.values()):
            message = f"A pull request already exists for example:{head}."
            raise No(422, "Validation Failed", {"resource": "PullRequest", "code": "custom", "message": message})
        if self.on_main(commit):
            message = f"No commits between {base} and {head}"
            raise No(422, "Validation Failed", {"resource": "PullRequest", "code": "custom", "message": message})
        number = max(self.pulls, default=0) + 1
        self.pulls[number] = {
            "number": number, "html_url": f"{self.url}/pull/{number}", "state": "open", "title": body["title"],
            "body": body["body"].replace("\n", "\r\n"), "user": {"login": "example"}, "merged_at": None,
            "merge_commit_sha": "f" * 40, "head": {"label": f"example:{head}", "ref": head, "sha": commit},
            "base": {"ref": base}, "looks": self.marked_after,
        }  # fmt: skip
        self.comments[number] = []
        return 201, self.pulls[number]

    def seen(self, row: dict[str, Any]) -> dict[str, Any]:
        """A pull as it is now. One whose head is on main is marked as merged, after some looks."""
        if row["state"] == "open":
            row["head"]["sha"] = self.at(f"refs/heads/{row['head']['ref']}") or row["head"]["sha"]
            if self.on_main(row["head"]["sha"]):
                if row["looks"] == 0:
                    row |= {"state": "closed", "merged_at": MERGED_AT, "merge_commit_sha": row["head"]["sha"]}
                row["looks"] -= 1
        return row

    def pull(self, at: tuple[str, ...], *_: object) -> tuple[int, Any]:
        return 200, self.seen(self.known(at))

    def change_pull(self, at: tuple[str, ...], _: object, body: dict[str, Any]) -> tuple[int, Any]:
        self.known(at).update(body)
        return 200, self.known(at)

    def known(self, at: tuple[str, ...]) -> dict[str, Any]:
        if int(at[0]) not in self.pulls:
            raise No(404, "Not Found")
        return self.pulls[int(at[0])]

    def merge(self, at: tuple[str, ...], _: object, body: dict[str, Any]) -> tuple[int, Any]:
        row, main = self.seen(self.known(at)), str(self.at("refs/heads/main"))
        head = row["head"]["sha"]
        if row["state"] != "open":
            raise No(405, "Pull Request is not mergeable")
        if head != body["sha"]:
            raise No(409, "Head branch was modified. Review and try the merge again.")
        if self.git("merge-base", main, head) != main:
            raise No(405, "Base branch was modified. Review and try the merge again.")
        merged = self.git("commit-tree", f"{head}^{{tree}}", "-p", main, "-p", head, "-m", f"Merge #{at[0]}")
        self.git("update-ref", "refs/heads/main", merged, main)
        row |= {"state": "closed", "merged_at": MERGED_AT, "merge_commit_sha": merged}
        return 200, {"sha": merged, "merged": True, "message": "Pull Request successfully merged"}

    def list_comments(self, at: tuple[str, ...], *_: object) -> tuple[int, Any]:
        self.known(at)
        return 200, self.comments[int(at[0])]

    def add_comment(self, at: tuple[str, ...], _: object, body: dict[str, Any]) -> tuple[int, Any]:
        self.known(at)
        self.allowed("comments")
        made = {"id": next(self.ids), "body": body["body"], "user": {"login": self.login}}
        self.comments[int(at[0])].append(made)
        return 201, made

    def edit_comment(self, at: tuple[str, ...], _: object, body: dict[str, Any]) -> tuple[int, Any]:
        row = self.comment_of(at)[1]
        row["body"] = body["body"].replace("\n", "\r\n")
        return 200, row

    def delete_comment(self, at: tuple[str, ...], *_: object) -> tuple[int, Any]:
        number, row = self.comment_of(at)
        self.comments[number].remove(row)
        return 204, None

    def comment_of(self, at: tuple[str, ...]) -> tuple[int, dict[str, Any]]:
        self.allowed("comments")
        for number, rows in self.comments.items():
            for row in rows:
                if row["id"] == int(at[0]):
                    return number, row
        raise No(404, "Not Found")

    def list_issues(self, _: tuple[str, ...], query: Mapping[str, str], __: object) -> tuple[int, Any]:
        return 200, self.issues(query)

    def set_status(self, at: tuple[str, ...], _: object, body: dict[str, Any]) -> tuple[int, Any]:
        self.allowed("statuses")
        if len(body["description"]) > 140:
            raise No(422, "Validation Failed: description is too long (maximum is 140 characters)")
        self.statuses[at[0]] = {**body, "url": f"{self.url}/statuses/{at[0]}"}
        return 201, self.statuses[at[0]]

    def user(self, *_: object) -> tuple[int, Any]:
        self.allowed("user")
        return 200, {"login": self.login}

    def allowed(self, what: str) -> None:
        if what in self.refused:
            raise No(403, "Resource not accessible by personal access token")

    def check_runs(self, at: tuple[str, ...], *_: object) -> tuple[int, Any]:
        if self.at(at[0]) is None:
            raise No(422, f"No commit found for SHA: {at[0]}")
        rows = [row for row in self.checks if row["head_sha"] == at[0]]
        return 200, {"total_count": len(rows), "check_runs": rows}

    def combined_status(self, at: tuple[str, ...], *_: object) -> tuple[int, Any]:
        rows = [self.statuses[at[0]]] if at[0] in self.statuses else []
        return 200, {"state": "pending", "statuses": rows, "sha": at[0], "total_count": len(rows)}

    def list_runs(self, _: tuple[str, ...], query: Mapping[str, str], __: object) -> tuple[int, Any]:
        rows = [row for row in self.runs.values() if query.get("head_sha") in (None, "", row["head_sha"])]
        return 200, {"total_count": len(rows), "workflow_runs": rows}

    def run(self, at: tuple[str, ...], *_: object) -> tuple[int, Any]:
        return 200, self.runs[int(at[0])]

    def rerun(self, at: tuple[str, ...], *_: object) -> tuple[int, Any]:
        for check in self.checks:
            if check["run_id"] == int(at[0]) and check["conclusion"] != "success":
                self.run_job(check)
        return 201, {}

    def job(self, at: tuple[str, ...], *_: object) -> tuple[int, Any]:
        return 200, next(row for row in self.checks if row["id"] == int(at[0]))

    def job_log(self, at: tuple[str, ...], *_: object) -> tuple[int, Any]:
        return 302, f"{self.url.replace('127.0.0.1', 'localhost').removesuffix('/example/repo')}/logs/{at[0]}"


Act = Callable[[ScriptedGithub, Any, Mapping[str, str], dict[str, Any]], tuple[int, Any]]
ROUTES: tuple[tuple[str, str, Act], ...] = (
    ("GET", r"/pulls", ScriptedGithub.list_pulls),
    ("POST", r"/pulls", ScriptedGithub.open_pull),
    ("GET", r"/pulls/(\d+)", ScriptedGithub.pull),
    ("PATCH", r"/pulls/(\d+)", ScriptedGithub.change_pull),
    ("PUT", r"/pulls/(\d+)/merge", ScriptedGithub.merge),
    ("GET", r"/issues", ScriptedGithub.list_issues),
    ("GET", r"/issues/(\d+)/comments", ScriptedGithub.list_comments),
    ("POST", r"/issues/(\d+)/comments", ScriptedGithub.add_comment),
    ("PATCH", r"/issues/comments/(\d+)", ScriptedGithub.edit_comment),
    ("DELETE", r"/issues/comments/(\d+)", ScriptedGithub.delete_comment),
    ("POST", r"/statuses/([0-9a-f]{40})", ScriptedGithub.set_status),
    ("GET", r"/user", ScriptedGithub.user),
    ("GET", r"/commits/([0-9a-f]{40})/check-runs", ScriptedGithub.check_runs),
    ("GET", r"/commits/([0-9a-f]{40})/status", ScriptedGithub.combined_status),
    ("GET", r"/actions/runs", ScriptedGithub.list_runs),
    ("GET", r"/actions/runs/(\d+)", ScriptedGithub.run),
    ("POST", r"/actions/runs/(\d+)/rerun-failed-jobs", ScriptedGithub.rerun),
    ("GET", r"/actions/jobs/(\d+)", ScriptedGithub.job),
    ("GET", r"/actions/jobs/(\d+)/logs", ScriptedGithub.job_log),
)


class _Host(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    github: ScriptedGithub


class _Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Host

    def log_message(self, format: str, *args: object) -> None:
        return None

    def do_GET(self) -> None:
        github, parts = self.server.github, urlsplit(self.path)
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        given = self.headers.get("Authorization", "")
        if parts.path.startswith("/logs/"):
            return self.reply(200 if not given else 400, github.logs[int(parts.path.split("/")[2])].encode())
        api = parts.path.startswith((API, USER))
        wanted = f"Bearer {TOKEN}" if api else f"Basic {base64.b64encode(f'x-access-token:{TOKEN}'.encode()).decode()}"
        if given != wanted:
            return self.reply(401, b'{"message": "Bad credentials"}')
        if not api:
            return self.git_backend(parts.path, parts.query, data)
        return self.api(parts.path.removeprefix(API).removeprefix("/api/v3"), dict(parse_qsl(parts.query)), data)

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815

    def api(self, path: str, query: dict[str, str], data: bytes) -> None:
        github = self.server.github
        github.asked.append(f"{self.command} {path}")
        with github.lock:
            try:
                status, told = github.rest(self.command, path, query, json.loads(data or b"{}"))
            except No as no:
                status, told = no.status, no.body
        headers = {"Location": told} if status == 302 else {}
        self.reply(status, b"" if status in (204, 302) else json.dumps(told).encode(), headers)

    def git_backend(self, path: str, query: str, data: bytes) -> None:
        env = {
            "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(self.server.github.bare.parents[1]),
            "GIT_HTTP_EXPORT_ALL": "1", "GIT_CONFIG_NOSYSTEM": "1", "HOME": "/nonexistent", "PATH_INFO": path,
            "QUERY_STRING": query, "REQUEST_METHOD": self.command, "REMOTE_USER": "example",
            "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(data)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }  # fmt: skip
        # for what is not there it answers, and exits 1 all the same
        done = subprocess.run(["git", "http-backend"], input=data, env=env, capture_output=True, check=False)
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.reply(int(headers.pop("Status", "200").split(" ")[0]), body, headers)

    def reply(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        lost = [pattern for pattern in self.server.github.lost if pattern.search(f"{self.command} {self.path}")]
        if lost:
            self.server.github.lost.remove(lost[0])
            self.close_connection = True
            return
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def scripted_github(folder: Path) -> Iterator[ScriptedGithub]:
    where = subprocess.run(["git", "--exec-path"], capture_output=True, text=True, check=True).stdout.strip()
    if not (Path(where) / "git-http-backend").exists():
        pytest.skip("git http-backend is missing: install the whole of git (Alpine: apk add git-daemon)")
    github = ScriptedGithub(folder)
    host = _Host(("127.0.0.1", 0), _Request)
    host.github = github
    github.url = f"http://127.0.0.1:{host.server_address[1]}/example/repo"
    thread = threading.Thread(target=host.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield github
    finally:
        host.shutdown()
        thread.join()
        host.server_close()
