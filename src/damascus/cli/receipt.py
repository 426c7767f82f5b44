"""damascus receipt: what is proved of a story, for people and for programs."""

import signal
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from damascus.cli.opened import app_for, open_app, opened
from damascus.cli.say import as_json as print_json
from damascus.cli.say import next_step, say, wrapped
from damascus.domain.errors import UsageError
from damascus.domain.ids import short
from damascus.domain.receipt_differences import NOT_COMPARED
from damascus.people.receipt_files import exported
from damascus.people.receipt_verifying import Verification
from damascus.people.receipt_verifying import verify as verified
from damascus.people.receipts import proved_receipt, receipt_of_story
from damascus.store import receipts
from damascus.system.replacing import replace_file
from damascus.system.signing import make_key, own_key, public_key, use_ssh_key
from damascus.telling.receipt import page


class StoryOrVerb(TyperGroup):
    """`receipt S-21` is `receipt show S-21`: what is no verb of ours is a story."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        words = [word for word in args if not word.startswith("-")]
        if words and words[0] not in self.commands:
            args = ["show", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=StoryOrVerb,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="What is proved of a story: `damascus receipt S-21`; export it, verify it, sign it.",
)
Story = Annotated[str, typer.Argument(metavar="STORY", help="The story's id.")]


@app.command("show", short_help="A story's receipt; `receipt STORY` is the same.")
def show(
    story: Story,
    as_json: Annotated[bool, typer.Option("--json", help="The receipt itself: build_receipt.json.")] = False,
    evidence: Annotated[
        bool, typer.Option("--evidence", help="All evidence of its last attempt as JSON: gates, steps, CI, landing.")
    ] = False,
) -> None:
    """How far each requirement, the tests and the code are proved, by what, and what is not.

    \b
    Example:  damascus receipt S-21
    """
    db, project = opened()
    if evidence:
        print_json(receipts.evidence(db, project.row, story))
        return
    found = receipt_of_story(db, project.row, story)
    if as_json:
        print_json(found.receipt.model_dump(mode="json"))
        return
    for lead, line in page(found.receipt, found.landed, found.patterns):
        say(wrapped(line, " " * 13, first=lead) if line else lead.rstrip())
    proof = found.receipt.proof
    first = f"damascus why {story}" if proof.unfinished else f"damascus receipt verify {short(proof.commit)}"
    next_step(f"{first}, damascus receipt {story} --evidence")


@app.command("export", short_help="As in-toto statements, signed.")
def export(
    story: Story,
    to: Annotated[Path | None, typer.Option("-o", metavar="FILE", help="Write it there; default: print it.")] = None,
) -> None:
    """The receipt as in-toto statements, a line each (.intoto.jsonl): tests red at the base and green at the head, a
    verification summary by main's damascus.toml, and the receipt itself. Signed if the installation has a key.

    \b
    Example:  damascus receipt export S-21 -o S-21.intoto.jsonl
    """
    opened_app, project = app_for(story)
    found = proved_receipt(opened_app.database, project.row, story)
    data = exported(found.receipt, project.mirror, project.config, opened_app.home)
    signed = own_key(opened_app.home) is not None
    note = "" if signed else "note: not signed, since this installation has no key. Make one: damascus receipt key"
    print(note, file=sys.stderr) if note else None
    if to is None:
        sys.stdout.buffer.write(data)
        return
    replace_file(to, data)
    say(f"{to}: {data.count(bytes([10]))} statements{', signed' if signed else ''}.")
    next_step(f"damascus receipt verify {to}")


@app.command("verify", short_help="Run it again, and compare.")
def verify(
    what: Annotated[str, typer.Argument(metavar="COMMIT|FILE", help="A landed commit, or an exported file.")],
    key: Annotated[
        list[Path] | None, typer.Option("--key", metavar="FILE", help="A public key that must have signed it.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> int:
    """Run the tests and gates of a receipt again, here, and compare field by field; check its signatures. Needs the
    repository and no database. Exit code 0: the same; 1: it differs, and says where; 2: it can't be judged here.

    \b
    Example:  damascus receipt verify 91ab33f
    """
    found_app = open_app()
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # what it made goes with it
    try:
        done = verified(Path.cwd(), what, found_app.environ, found_app.home, key or [], progress=_progress)
    finally:
        signal.signal(signal.SIGTERM, before)
    if as_json:
        print_json({
            "same": done.code == 0, "differences": list(done.differences), "unjudged": done.unjudged or None,
            "not_compared": [*NOT_COMPARED, *done.listed],
            "commit": done.receipt.proof.commit if done.receipt else None, "another_commit": done.another or None,
        })  # fmt: skip
    else:
        _say_verified(what, done)
    return done.code


def _progress(line: str) -> None:
    print(f"  {line}", file=sys.stderr, flush=True)


def _say_verified(what: str, done: Verification) -> None:
    if done.receipt is not None and done.code == 0:
        status = f"{done.receipt.status}, {done.receipt.proof.story} on {short(done.receipt.proof.commit)}"
        say(wrapped(f"{what}: the same here. The receipt stands: {status}."))
    if done.another:
        say(wrapped(f"  {done.another}.", "    "))
    for difference in done.differences:
        say(wrapped(f"differs: {difference}", "  "))
    if done.unjudged:
        say(wrapped(f"{what} can't be judged here: {done.unjudged}", "  "))
    for told in done.listed:
        say(wrapped(f"  not compared: {told}", "    "))
    if done.code == 0:
        say(wrapped(f"  not compared: {', '.join(NOT_COMPARED)}", "    "))


@app.command("key", short_help="The key that signs receipts here.")
def key(
    ssh: Annotated[Path | None, typer.Option("--ssh", metavar="FILE", help="Sign with this SSH key instead.")] = None,
) -> None:
    """Make the installation's key, or name an SSH key: from then on receipts are signed. Prints the public half's file,
    for whoever verifies: damascus receipt verify COMMIT --key FILE

    \b
    Example:  damascus receipt key
    """
    home = open_app().home
    if ssh is not None and not ssh.expanduser().exists():
        raise UsageError(f"{ssh} is not there. Name the private key's file.")
    public = use_ssh_key(home, ssh) if ssh is not None else make_key(home)
    say(f"{public}: receipts are signed by {public_key(public).keyid}")
    next_step(f"give it to whoever checks: damascus receipt verify COMMIT --key {public.name}")
