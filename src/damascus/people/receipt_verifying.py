"""`receipt verify`: the tests and gates are run again, and the receipt that comes out is compared with the one that was
given, field by field.

It needs the repository and Damascus, and neither a database nor a word of anybody: a sceptic's machine will do.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from damascus.domain.errors import DamascusError, GitError, TransientError
from damascus.domain.ids import Sha, short
from damascus.domain.receipt import BuildReceipt
from damascus.domain.receipt_differences import differences, other_tools
from damascus.domain.receipt_note import RECEIPT_PAYLOAD, Signature, read_note
from damascus.domain.statements import PAYLOAD, ReadBundle, read_bundle
from damascus.git.notes import NOTES, note_on
from damascus.git.repository import Repository
from damascus.people.receipt_again import ReceiptAgain
from damascus.system.signing import PublicKey, check, known_keys, public_key

CANNOT = (DamascusError, TransientError, GitError)


@dataclass(frozen=True)
class Verification:
    """`differences`: each a sentence; `unjudged`: why nothing could be compared; `listed`: what was not; `another`: the
    receipt is of another commit with the same files."""

    receipt: BuildReceipt | None
    differences: tuple[str, ...] = ()
    unjudged: str = ""
    listed: tuple[str, ...] = ()
    another: str = ""

    @property
    def code(self) -> int:
        return 1 if self.differences else 2 if self.unjudged else 0


@dataclass
class Given:
    """What was handed over, and what is wrong with it before anything is run. `commit` has the note."""

    receipt: BuildReceipt | None
    problems: list[str]
    listed: list[str] = field(default_factory=list)
    commit: Sha | None = None
    bundle: ReadBundle | None = None


@dataclass(frozen=True)
class Trust:
    """Whose signatures count. `demanded`: a person named a key, so that what it did not sign is a difference."""

    keys: Sequence[PublicKey]
    demanded: bool

    def look(self, given: Given, what: str, signature: Signature | None, kind: str, payload: bytes) -> None:
        told = self._signature_said(what, signature, kind, payload)
        if told:
            wrong = self.demanded or (signature is not None and check(signature, kind, payload, self.keys) is False)
            (given.problems if wrong else given.listed).append(told)

    def _signature_said(self, what: str, signature: Signature | None, kind: str, payload: bytes) -> str:
        if signature is None:
            return f"{what} is not signed"
        known = check(signature, kind, payload, self.keys)
        if known is None:
            return f"{what} is signed by {signature.keyid}, which is not known here (--key FILE)"
        return "" if known else f"{what}: the signature by {signature.keyid} is wrong"


def verify(
    start: Path,
    what: str,
    environ: Mapping[str, str],
    home: Path,
    keys: Sequence[Path] = (),
    *,
    progress: Callable[[str], None] = lambda line: None,
) -> Verification:
    """Whatever keeps it from being compared says nothing against it."""
    try:
        repository = Repository.discover(start)
        trust = Trust([*(public_key(file) for file in keys), *known_keys(home)], bool(keys))
        file = Path(what)
        given = _of_file(file, trust) if file.is_file() else _of_commit(repository, what, trust)
    except CANNOT as err:
        return Verification(None, unjudged=str(err))
    if given.receipt is None:
        return Verification(None, tuple(given.problems))
    with tempfile.TemporaryDirectory(prefix="damascus-verify-") as folder:
        try:
            again = ReceiptAgain(repository, given.receipt, environ, Path(folder), progress)
            return _compared(given, given.receipt, again)
        except CANNOT as err:
            return Verification(given.receipt, tuple(given.problems), str(err), tuple(given.listed))


def _compared(given: Given, receipt: BuildReceipt, again: ReceiptAgain) -> Verification:
    problems = (*given.problems, *again.facts(given.commit, given.bundle))
    if problems:
        return Verification(receipt, problems, listed=tuple(given.listed))
    made = again.made()
    listed = (*given.listed, *again.listed)
    if again.could_not_run:
        return Verification(receipt, (), again.could_not_run, listed)
    listed = (*listed, *other_tools(receipt, made))
    another = ""
    if given.commit not in (None, again.commit):  # `facts` have compared their files
        another = f"{short(given.commit)} is another commit than {short(again.commit)}, with the same files"
    return Verification(receipt, tuple(differences(receipt, made, again.unread)), listed=listed, another=another)


def _of_commit(repository: Repository, what: str, trust: Trust) -> Given:
    words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{what}^{{commit}}")
    found = repository.git.run(*words, check=False)
    if found.code != 0:
        raise NoReceipt(f"{what} is neither a file nor a commit of {repository.top}.")
    commit = Sha(found.text)
    text = note_on(repository, commit)
    if text is None:
        raise NoReceipt(f"{short(commit)} has no receipt here. If a forge has it: git fetch origin {NOTES}:{NOTES}")
    read = read_note(text)
    given = Given(read.receipt, list(read.problems), commit=commit)
    if read.receipt is not None:
        trust.look(given, "the note", read.signature, RECEIPT_PAYLOAD, read.body)
    return given


class NoReceipt(DamascusError):
    """There is nothing to verify."""


def _of_file(file: Path, trust: Trust) -> Given:
    try:
        bundle = read_bundle(file.read_bytes())
    except OSError as err:
        raise NoReceipt(f"{file} can't be read: {err.strerror}.") from None
    if bundle.foreign:
        why = "no line of it is an in-toto statement" if bundle.problems else "it is empty"
        raise NoReceipt(f"{file} is no exported receipt: {why}. Make one: damascus receipt export STORY -o FILE")
    given = Given(bundle.receipt, list(bundle.problems), bundle=bundle)
    for number, envelope in enumerate(bundle.envelopes, 1):
        trust.look(given, f"statement {number}", envelope.signature, PAYLOAD, envelope.payload)
    return given
