"""A receipt made again: its commit is judged here and now, by the rules of its base, in a folder of its own."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from damascus.domain.errors import DamascusError
from damascus.domain.ids import Sha, StoryId, short
from damascus.domain.ports import (
    AcceptedPicture,
    Candidate,
    GateName,
    GateResult,
    LandedBefore,
    Owner,
    Owners,
    Pictures,
    ShownPicture,
)
from damascus.domain.receipt import BuildReceipt
from damascus.domain.said import Said
from damascus.domain.scope import Scope
from damascus.domain.spec import Spec, digest, parse_spec
from damascus.domain.statements import ReadBundle, payload_of, statements
from damascus.engine.agent_step.sending import passed_on
from damascus.engine.flow.said import left_out_by
from damascus.engine.judging import in_full, in_order
from damascus.evidence.receipt_evidence import Spoken, Subject, changed_content, policy_at, receipt_from
from damascus.evidence.runner import CleanRunner
from damascus.gates import GateSet, gates
from damascus.git.mirror import Mirror
from damascus.git.repository import Repository
from damascus.git.setup import WorkspaceSetup
from damascus.people.held_out import packed_as_found
from damascus.people.receipt_files import blobs_of_tests
from damascus.scanning.scanner import Scanner
from damascus.system.sandbox import detect
from damascus.toolset import RulesAtCommit

FETCH = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules")
CANNOT_RUN = (126, 127)


class NoPictures(Pictures):
    """What a person accepted is in the installation's database: here nobody has accepted any, and nobody is asked."""

    def accepted(self, story: str, page: str, viewport: str) -> list[AcceptedPicture]:
        return []

    def show(self, story: str, picture: ShownPicture) -> None:
        pass


class NoOwners(Owners):
    """Which story owns which file is in the installation's database: here nobody knows, and nothing is compared."""

    def of(self, paths: Collection[str]) -> list[Owner] | None:
        return None

    def every(self) -> list[Owner] | None:
        return None

    def kin(self, story: StoryId) -> list[Owner]:
        return []


class ReceiptAgain:
    """`listed` is what could not be done here, `unread` whether held-out tests are among it, `could_not_run` why
    nothing can be said at all."""

    def __init__(
        self,
        repository: Repository,
        receipt: BuildReceipt,
        environ: Mapping[str, str],
        folder: Path,
        progress: Callable[[str], None],
    ) -> None:
        self.repository, self.receipt, self.folder, self.progress = repository, receipt, folder, progress
        self.commit, self.base = Sha(receipt.proof.commit), Sha(receipt.proof.base)
        self.mirror = Mirror.open(folder / "mirror.git", str(repository.git_dir))
        self.rules = RulesAtCommit(self.mirror, environ)
        self.listed: list[str] = []
        self.unread = False
        self.could_not_run = ""

    def facts(self, noted: Sha | None, bundle: ReadBundle | None) -> Iterator[str]:
        """What is known without a run; anything wrong makes one pointless. `noted`: the commit that has the note."""
        proof = self.receipt.proof
        for name, sha in (("commit", self.commit), ("base", self.base), ("noted commit", noted or self.commit)):
            if not self._here(sha):
                raise self._missing(f"the {name} {short(sha)} that the receipt names")
        tree = self.mirror.tree(self.commit)
        if tree != proof.tree:
            yield f"the receipt names the tree {short(proof.tree)}, its commit has {short(tree)}"
        if noted not in (None, self.commit) and self.mirror.tree(Sha(str(noted))) != tree:
            yield f"the receipt is of {short(self.commit)}, and {short(noted)} has other files"
        if digest(proof.spec.raw) != proof.spec.sha256:
            yield "the spec in the receipt does not have the hash that it names"
        if (before := proof.built_before) and digest(before.spec.raw) != before.spec.sha256:
            yield "the earlier spec in the receipt does not have the hash that it names"
        if policy_at(self.mirror, self.base) != proof.policy.blob:
            yield f"{proof.policy.file} of the base is another one than the receipt names"
        yield from self._statements(bundle) if bundle else ()

    def _missing(self, what: str) -> DamascusError:
        if (self.repository.git_dir / "shallow").exists():
            return DamascusError(
                f"{what} is not in {self.repository.top}, a shallow clone. Fetch the rest of its history: "
                "git fetch --unshallow"
            )
        story = self.receipt.proof.story
        return DamascusError(f"{what} is not in {self.repository.top}. Go to a clone of the repository {story} is of.")

    def _here(self, sha: Sha) -> bool:
        """In our store of its own, as far as the repository has it."""
        if self.mirror.objects.find([sha])[0] is None:
            self.mirror.git.run("-c", "protocol.version=2", *FETCH, str(self.repository.git_dir), sha, check=False)
        return self.mirror.objects.find([sha])[0] is not None

    def _statements(self, bundle: ReadBundle) -> Iterator[str]:
        blobs = blobs_of_tests(self.mirror, self.rules(self.base), self.base, self.commit)
        wanted = [payload_of(one) for one in statements(self.receipt, blobs)]
        found = [one.payload for one in bundle.envelopes]
        for number, payload in enumerate(found, 1):
            if payload not in wanted:
                yield f"statement {number} does not say what the receipt says"
        if len(found) != len(wanted):
            yield f"there are {len(found)} statements instead of {len(wanted)}"

    def made(self) -> BuildReceipt:
        spec = parse_spec(self.receipt.proof.spec.raw, self.receipt.proof.spec.path)
        candidate = self._candidate(spec)
        results = list(self._results(candidate))
        made = receipt_from(self._subject(candidate), candidate, results, self._spoken(spec))
        made.proof.held_out = bool(spec.acceptance)
        return made

    def _candidate(self, spec: Spec) -> Candidate:
        config, proof = self.rules(self.base), self.receipt.proof
        held = packed_as_found(self.repository.top / proof.spec.path, spec.acceptance) if spec.acceptance else None
        if spec.acceptance and held is None:
            self.unread = True
            self.listed.append("the held-out tests are not at hand, so they were not run")
        logs = self.folder / "logs"
        return Candidate(
            commit=self.commit,
            tree=self.mirror.tree(self.commit),
            base=self.base,
            changed=self.mirror.changed(self.base, self.commit),
            spec=spec,
            scope=Scope(spec.scope.patterns if spec.scope else ()),
            config=config,
            read=self.mirror.read,
            files=lambda treeish: self.mirror.listing(treeish).files,
            logs=logs,
            private_logs=logs / "held-out",
            env=passed_on(config.workspace.env),
            acceptance=held,
            full=in_full(spec, config),
            landed=self._landed(),
        )

    def _landed(self) -> LandedBefore | None:
        """What the receipt says that it was; the gate asks whether that commit is below its base."""
        before = self.receipt.proof.built_before
        if before is None or not self._here(Sha(before.commit)):
            return None
        spec = parse_spec(before.spec.raw, before.spec.path, rough=True)
        return LandedBefore(Sha(before.commit), spec, before.spec.raw, before.spec.path)

    def _results(self, candidate: Candidate) -> Iterator[GateResult]:
        """Every gate in its order, as a build does; the first that refuses is the last."""
        lanes = self._gates(candidate)
        self.progress(f"{self.receipt.proof.story}: its gates run again; the whole suite may take a while")
        before = in_order(lanes.before, candidate, self._tell_progress)
        yield from before
        red = next((result for result in before if result.gate == GateName.RED), None)
        self._notice(red)
        if any(result.findings for result in before):
            return
        judged = replace(candidate, red=red)
        for lane in (lanes.after, lanes.beside):
            found = in_order(lane, judged, self._tell_progress)
            yield from found
            self._notice(next((result for result in found if result.gate == GateName.TESTS), None))
            if any(result.findings for result in found):
                return

    def _tell_progress(self, result: GateResult) -> None:
        self.progress(f"gate {result.gate}: {'refuses' if result.findings else 'done'}")

    def _gates(self, candidate: Candidate) -> GateSet:
        level = detect()
        setup = WorkspaceSetup(
            self.mirror, self.folder / "setup", self.repository.top, lambda: False, sandbox=level, may_lack=True
        )

        def prepare(checkout: Path) -> Mapping[str, str]:
            setup.prepare(checkout, self.base, candidate.config)
            return {}

        runner = CleanRunner(self.mirror, self.folder / "checkouts", prepare, sandbox=level, home_of=setup.home_of)
        return gates(runner, self.mirror, Scanner(), NoPictures(), NoOwners())

    def _notice(self, result: GateResult | None) -> None:
        """A command that could not even be started says nothing about the receipt."""
        for one in result.evidence if result else ():
            if one.exit_code in CANNOT_RUN and not self.could_not_run:
                self.could_not_run = f"`{one.command}` could not be started here (exit {one.exit_code})"

    def _subject(self, candidate: Candidate) -> Subject:
        receipt, proof = self.receipt, self.receipt.proof
        return Subject(
            story=candidate.spec.story,
            title=proof.title,
            branch=receipt.branch,
            spec_path=proof.spec.path,
            spec=proof.spec.raw,
            policy=policy_at(self.mirror, self.base),
            timestamp=self.mirror.made_at(self.commit),
            change=changed_content(self.mirror, candidate),
            red_base=proof.red_base,
            confinement=detect().value,
            profile="full" if candidate.full else "direct",
        )

    def _left_out(self, spec: Spec) -> list[str]:
        """By the rules that it was built by, or by those of now where they have changed meanwhile."""
        proof = self.receipt.proof
        rules = [self.rules(base) for base in (Sha(proof.red_base or proof.base), self.base) if self._here(base)]
        left = [left_out_by(config, in_full(spec, config)) for config in rules]
        return proof.left_out if proof.left_out in left else left[0]

    def _spoken(self, spec: Spec) -> Spoken:
        """Claims and people's words are taken from the receipt: nothing can be run again of them."""
        proof, receipt = self.receipt.proof, self.receipt
        left = [name for name in (receipt.tests.summary_file, receipt.code.summary_file) if name]
        return Spoken(
            said=[Said.model_validate(one.model_dump()) for one in proof.said],
            left_out=self._left_out(spec),
            left_open=proof.left_open,
            equivalent={one.mark: one.words for one in proof.persons if one.mark},
            accepted=[one for one in proof.persons if not one.mark],
            artifacts=[f"build/{name}" for name in left],
            runs=proof.runs,
            mutations=proof.mutations,
            unfinished=proof.unfinished,
        )
