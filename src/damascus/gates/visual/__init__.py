"""Gate visual: the pages of `[visual]` look as a person accepted them (A6).

    touched.py         does the story touch anything that a page could show?
    needs.py           what of the host is needed: Chromium, Pillow
    taking.py          pictures of the candidate's pages, from its server in one sandbox by a browser in another
    photographing.py   runs there: one browser for each page, driven through devtools.py
    comparing.py       pixel by pixel with what was accepted, in the reading process
    laying.py          the pictures as files, for a person's eyes

Nothing passes here by itself: a page that has no accepted picture, or looks another way, is shown to a person, once
everything else is green (engine/judging.py). A page of which no picture can be taken has not passed. A task of type ui
has not passed before a page was looked at.
"""

import hashlib
from collections.abc import Sequence

from damascus.domain.config import VisualConfig
from damascus.domain.errors import DamascusError
from damascus.domain.pictures import Picture, mark_of
from damascus.domain.ports import (
    AcceptedPicture,
    Candidate,
    Evidence,
    EvidenceRunner,
    Finding,
    Gate,
    GateName,
    GateResult,
    Pictures,
    ShownPicture,
)
from damascus.domain.tasks import TaskType
from damascus.domain.verdict import Verdict
from damascus.gates.runs import evidence
from damascus.gates.visual.comparing import ComparedPicture, compared
from damascus.gates.visual.laying import lay_out
from damascus.gates.visual.needs import browser, lacking
from damascus.gates.visual.taking import Taken, take
from damascus.gates.visual.touched import touched

FOLDER = "visual"


class Visual(Gate):
    name = GateName.VISUAL

    def __init__(self, runner: EvidenceRunner, pictures: Pictures) -> None:
        self._runner, self._pictures = runner, pictures

    def check(self, candidate: Candidate) -> GateResult:
        config = candidate.config.visual
        page_due = candidate.spec.task_type is TaskType.UI
        if not config.pages:
            why = "[visual] pages on main names none"
            return self._nothing(candidate, why, _unseen(why)) if page_due else GateResult(gate=self.name)
        if not touched(candidate):
            why = "the story touches nothing that a page shows"
            return self._nothing(candidate, why, _unseen(why) if page_due else [])
        if why := lacking(config):
            if config.required or page_due:
                raise DamascusError(f"the pages of [visual] can't be looked at, which is required: {why}")
            listed = self._nothing(candidate, f"no picture was taken: {why}")
            return listed.model_copy(update={"unverified": [f"visual: no picture was taken: {why}"]})
        return self._looked(candidate, config)

    def _nothing(self, candidate: Candidate, why: str, findings: Sequence[Finding] = ()) -> GateResult:
        looked = Evidence(gate=self.name, tree=candidate.tree, summary=why)
        return GateResult(gate=self.name, findings=list(findings), evidence=[looked])

    def _looked(self, candidate: Candidate, config: VisualConfig) -> GateResult:
        taken, run = take(self._runner, candidate, browser(config))
        result = GateResult(gate=self.name, evidence=[evidence(self.name, run)])
        for one in taken:
            against = self._pictures.accepted(candidate.spec.story, one.page, config.viewport)
            found = ComparedPicture(problem=one.problem) if one.problem else compared(one.png, against, config)
            result.unverified += one.unverified
            if found.problem:
                result.findings.append(_refused(one.page, found.problem, run.output))
            else:
                result.pictures.append(self._picture(candidate, one, found))
        result.evidence += [
            Evidence(gate=self.name, tree=candidate.tree, summary=_summary(one, taken)) for one in result.pictures
        ]
        return result

    def _picture(self, candidate: Candidate, one: Taken, found: ComparedPicture) -> Picture:
        viewport = candidate.config.visual.viewport
        picture = Picture(
            page=one.page,
            viewport=viewport,
            mark=mark_of(one.page, viewport, one.png),
            sha256=hashlib.sha256(one.png).hexdigest(),
            browser=one.browser,
            state="same" if found.same else "changed" if found.against else "new",
            differing=found.differing,
            pixels=found.pixels,
            accepted=_whose(found.against, one.browser) if found.against else "",
        )
        if not picture.asks:
            return picture
        self._pictures.show(
            candidate.spec.story, ShownPicture(one.page, viewport, picture.mark, one.png, one.browser)
        )  # fmt: skip
        files = lay_out(candidate.logs / FOLDER, one.page, picture.mark, one.png, found)
        return picture.model_copy(update={"files": files})


def _unseen(why: str) -> list[Finding]:
    """Of a task of type ui (A6)."""
    message = f"a task of type ui needs a page that was looked at, and none was: {why}."
    return [Finding(gate=GateName.VISUAL, verdict=Verdict.PAGE_NOT_ACCEPTED, message=message)]


def _whose(accepted: AcceptedPicture, browser: str) -> str:
    by = f"{accepted.by} accepted on {accepted.at:%Y-%m-%d} in {accepted.story}"
    return by if accepted.browser == browser else f"{by}, taken by {accepted.browser} then and by {browser} now"


def _refused(page: str, problem: str, output: str) -> Finding:
    message = f"{page}: no picture of it could be taken: {problem}."
    return Finding(
        gate=GateName.VISUAL, verdict=Verdict.PAGE_NOT_ACCEPTED, message=message, paths=[page], output=output
    )


def _summary(picture: Picture, taken: list[Taken]) -> str:
    hidden = next(one.covered for one in taken if one.page == picture.page)
    masked = f"; selectors of masks hide {hidden:.1%} of it" if hidden else ""
    return f"{picture.told} (sha256 {picture.sha256[:16]}){masked}"
