"""The write pipeline of one agent step: what every write passes while the agent works (A10 to A14).

Before the tool runs: where does it lead, is that in scope, may this role write it, does it bring a secret, does a
person agree. After it ran: log, compile check, SAST in the background. Whatever fails here is a refusal.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from damascus.domain.config import WritesConfig
from damascus.domain.ports import Finding, WriteDecision
from damascus.stacks import parsed_here
from damascus.writes import proposal as tools
from damascus.writes.after_step import check_diff
from damascus.writes.bounds import shown
from damascus.writes.checks import Checks
from damascus.writes.compile_check import Compiler
from damascus.writes.log import Compiled, Origin, WriteEntry, WriteLog
from damascus.writes.person import WriteAnswer, WritePerson, WriteQuestion
from damascus.writes.proposal import Proposal, ProposedChange
from damascus.writes.refusal import RefusedWrite
from damascus.writes.sast import Sast

SHELL = "Bash"
POLICY, PERSON = "policy", "person"


@dataclass(frozen=True)
class AllowedWrite:
    """A write that may happen now."""

    proposal: Proposal
    by: str


@dataclass
class Pipeline:
    """Implements ports.Writes. `artifacts` is a folder outside of the workspace that the step may fill."""

    workspace: Path
    origin: Origin
    checks: Checks
    log: WriteLog
    settings: WritesConfig = field(default_factory=WritesConfig)  # type: ignore[arg-type]
    person: WritePerson | None = None
    compiler: Compiler | None = None
    artifacts: Path | None = None
    who: str = POLICY

    def __post_init__(self) -> None:
        self._approved: dict[Path, AllowedWrite] = {}
        self._lock = threading.Lock()
        self._sast = Sast(self.log) if self.settings.sast else None

    # ── before ────────────────────────────────────────────────────────────────────────────────────────

    def propose(self, tool: str, given: Mapping[str, object]) -> WriteDecision:
        try:
            return self._command(given) if tool == SHELL else self._write(tool, given)
        except RefusedWrite as refused:
            return self._refuse(tool, given, refused)
        except Exception as err:
            text = f"the write pipeline itself failed ({type(err).__name__}), so nothing was written. Try once more."
            return self._refuse(tool, given, RefusedWrite("pipeline", text))

    def _command(self, given: Mapping[str, object]) -> WriteDecision:
        """What a shell will write can't be known; its text can be looked at, and git's diff is judged afterwards."""
        self.checks.no_secret_in_command(str(given.get("command", "")))
        return WriteDecision(allowed=True)

    def _write(self, tool: str, given: Mapping[str, object]) -> WriteDecision:
        root = self._root(tool, given)
        proposal = tools.proposed(root, tool, given)
        self._check(root, proposal)
        if self.settings.gate != PERSON:
            self._approve(root, AllowedWrite(proposal, self.who))
            return WriteDecision(allowed=True)
        answer = self._ask(tool, proposal)
        replaced = None
        if answer.edited is not None and answer.edited != proposal.after:
            replaced = tools.instead(tool, given, proposal, answer.edited)
            proposal = tools.proposed(root, tool, replaced)
            self._check(root, proposal)
        self._approve(root, AllowedWrite(proposal, PERSON))
        return WriteDecision(allowed=True, replaced=replaced)

    def _root(self, tool: str, given: Mapping[str, object]) -> Path:
        told = str(given.get("notebook_path" if tool == "NotebookEdit" else "file_path", ""))
        of_artifacts = self.artifacts is not None and told.startswith(f"{self.artifacts}/")
        return self.artifacts if of_artifacts and self.artifacts else self.workspace

    def _check(self, root: Path, proposal: Proposal) -> None:
        """The scope and the role's rules are about the workspace; a secret has no place anywhere."""
        if root == self.workspace:
            self.checks.check(proposal)
        else:
            self.checks.no_secret(proposal)

    def _ask(self, tool: str, proposal: Proposal) -> WriteAnswer:
        if self.person is None:
            raise RefusedWrite("person", "[writes] gate is person, and nobody can be asked. Say so in your report.")
        answer = self.person.ask(WriteQuestion(self.origin.story, self.origin.role, tool, proposal))
        if answer.word == "reject":
            raise RefusedWrite("person", f"a person rejected this write: {answer.reason or 'no reason given'}")
        return answer

    def _approve(self, root: Path, approved: AllowedWrite) -> None:
        with self._lock:
            self._approved[root / approved.proposal.path] = approved

    def _refuse(self, tool: str, given: Mapping[str, object], refused: RefusedWrite) -> WriteDecision:
        """Also when even the log can't be written. What was refused is not kept: it may be the secret."""
        try:
            told = given.get("notebook_path") or given.get("file_path") or ""
            self.log.add(self._entry(tool, _below(self.workspace, told), refused=refused))
        except Exception as err:
            text = f"{refused.reason} (This refusal could not be logged: {type(err).__name__}.)"
            return WriteDecision(allowed=False, reason=text)
        return WriteDecision(allowed=False, reason=refused.reason)

    # ── after ─────────────────────────────────────────────────────────────────────────────────────────

    def applied(self, tool: str, given: Mapping[str, object]) -> str:
        if tool == SHELL:
            return ""
        try:
            return self._applied(tool, given)
        except RefusedWrite as refused:
            return refused.reason
        except Exception as err:
            return f"this write could not be recorded ({type(err).__name__}); it will be judged by git's diff."

    def _applied(self, tool: str, given: Mapping[str, object]) -> str:
        root = self._root(tool, given)
        path = tools.target(root, tool, given)
        with self._lock:
            approved = self._approved.pop(root / path, None)
        change = ProposedChange(path, approved.proposal.before if approved else None, tools.content(root / path))
        n = self._record(tool, change, approved, artifact=root != self.workspace)
        if change.after is None:
            return ""
        told = self._unforeseen(root, change, approved)
        if not told:
            self.log.keep(change.before)
            self.log.keep(change.after)
        if root != self.workspace:
            return told
        compiled = self._compiled(n, path, change.after)
        if self._sast is not None:
            self._sast.look(n, path, change.after)
        return "\n".join(filter(None, (told, _compile_text(path, compiled))))

    def _unforeseen(self, root: Path, change: ProposedChange, approved: AllowedWrite | None) -> str:
        """A tool that wrote something else than it proposed, or without proposing: looked at now."""
        if change.after is None or (approved is not None and approved.proposal.after == change.after):
            return ""
        try:
            self._check(root, Proposal(change.path, change.before, change.after))
        except RefusedWrite as refused:
            return refused.reason
        return ""

    def _compiled(self, n: int, path: str, content: bytes) -> Compiled | None:
        if self.compiler is None or not self.settings.compile:
            return None
        compiled = self.compiler.check(path, content)
        if compiled is not None:
            self.log.amend(n, compile=compiled.model_dump())
        return compiled

    # ── after the step ────────────────────────────────────────────────────────────────────────────────

    def after_step(self, changed: Sequence[ProposedChange]) -> list[Finding]:
        """The same over git's diff: what a shell wrote, or an agent without hooks. Call it before `finish`."""
        return check_diff(self.log, self.origin, self.checks, changed, self._look_at_found)

    def _look_at_found(self, n: int, change: ProposedChange) -> None:
        if change.after is None:
            return
        if parsed_here(change.path):
            self._compiled(n, change.path, change.after)
        if self._sast is not None:
            self._sast.look(n, change.path, change.after)

    def finish(self) -> None:
        """The step is over: what is done in the background is waited for."""
        if self._sast is not None:
            self._sast.finish()

    # ── the log ───────────────────────────────────────────────────────────────────────────────────────

    def _entry(self, tool: str, path: str, *, refused: RefusedWrite) -> WriteEntry:
        return WriteEntry(
            tool=tool, path=path, verdict="refused", check=refused.check, reason=refused.reason, origin=self.origin,
            accepted=path in self.checks.bounds.accepted,
        )  # fmt: skip

    def _record(self, tool: str, change: ProposedChange, approved: AllowedWrite | None, *, artifact: bool) -> int:
        entry = WriteEntry.of(change, tool, self.origin, accepted=change.path in self.checks.bounds.accepted)
        told: dict[str, object] = {"verdict": "applied", "approved": approved.by} if approved else {}
        return self.log.add(entry.model_copy(update={"artifact": artifact, **told}))


def _below(workspace: Path, told: object) -> str:
    """A path for the log, whatever the tool said."""
    return shown(str(told).removeprefix(f"{workspace}/"))[:500]


def _compile_text(path: str, compiled: Compiled | None) -> str:
    if compiled is None or compiled.ok is not False:
        return ""
    return f"{path} was written, and {compiled.tool} fails. Repair it before anything else:\n{compiled.text}"
