"""A release's receipt in lines for people."""

from collections import Counter
from collections.abc import Iterator

from damascus.domain.ids import short
from damascus.domain.release import ReleaseReceipt, RepositoryOfRelease
from damascus.telling.phrases import plural

MOST = 20


def lines(receipt: ReleaseReceipt) -> Iterator[str]:
    """Who, what was verified, what is red, what nobody can vouch for."""
    note = f": {receipt.note}" if receipt.note else ""
    yield f"declared by {receipt.declared_by}{note}"
    counted = Counter(task.status.value for task in receipt.tasks)
    yield "tasks: " + (", ".join(f"{n} {status}" for status, n in sorted(counted.items())) or "none")
    for repo in receipt.repositories:
        yield from _of(repo)
    for word, names in (("red", receipt.red), ("UNVERIFIED", receipt.unverified), ("MVP only", receipt.mvp)):
        yield from (f"{word}: {name}" for name in names[:MOST])
        if len(names) > MOST:
            yield f"{word}: {len(names) - MOST} more (damascus ship --show --json)"


def _of(repo: RepositoryOfRelease) -> Iterator[str]:
    passed = sum(one.state == "passed" for one in repo.contracts)
    coverage = f"{repo.coverage.percent:g} %" if repo.coverage.percent is not None else "not measured"
    suite = f"suite {repo.suite.state}" + (f" ({repo.suite.summary})" if repo.suite.summary else "")
    yield (
        f"{repo.repo} at {short(repo.commit)}: {suite}; contracts {passed}/{len(repo.contracts)}; coverage {coverage}; "
        f"{plural(len(repo.findings), 'security finding')}"
    )
