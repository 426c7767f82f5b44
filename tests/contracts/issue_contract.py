"""What an import relies on in any forge that has issues. A new adapter subclasses IssueContract and has a `world`."""

from abc import ABC, abstractmethod

import pytest

from damascus.domain.ports import Issues


class IssueWorld(ABC):
    """A forge with a repository on it, and the ways to act there as a person does."""

    issues: Issues

    @abstractmethod
    def open_issue(self, title: str, body: str, labels: tuple[str, ...] = ()) -> int:
        """Its number."""

    @abstractmethod
    def close_issue(self, number: int) -> None: ...

    @abstractmethod
    def open_pull(self, label: str) -> None:
        """A pull with that label: forges list it among the issues."""


class IssueContract:
    """Inherit and provide the fixture `world`."""

    @pytest.mark.req("X15.4")
    def test_open_issues_of_a_label_and_no_others_oldest_first(self, world: IssueWorld) -> None:
        first = world.open_issue("First", "words\n", ("damascus", "io"))
        world.open_issue("Another's", "words", ("io",))
        world.open_issue("Unlabelled", "words")
        closed = world.open_issue("Closed", "words", ("damascus",))
        world.close_issue(closed)
        last = world.open_issue("Last", "", ("damascus",))
        world.open_pull("damascus")
        found = world.issues.issues("damascus")
        assert [(one.number, one.title) for one in found] == [(first, "First"), (last, "Last")]
        assert found[0].body.strip() == "words" and set(found[0].labels) == {"damascus", "io"}

    @pytest.mark.req("X15.4")
    def test_a_label_that_nobody_knows_has_no_issues(self, world: IssueWorld) -> None:
        world.open_issue("First", "words", ("damascus",))
        assert world.issues.issues("nobody-has-this") == []

    @pytest.mark.req("X15.4")
    def test_more_than_a_page(self, world: IssueWorld) -> None:
        numbers = [world.open_issue(f"Issue {n}", "", ("damascus",)) for n in range(55)]
        assert [one.number for one in world.issues.issues("damascus")] == numbers
