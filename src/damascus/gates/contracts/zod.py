"""Zod schemas: the samples of each schema that a file exports conform, main's too. Asked of the project's own Zod, by
zod.mjs, in the sandbox: what a schema says of itself is the story's own code, so it is only as good as the samples."""

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from damascus.domain.ids import Sha
from damascus.domain.ports import Candidate, EvidenceRunner, TestRun
from damascus.domain.scope import glob_regex
from damascus.gates.contracts.look import LookAtContracts
from damascus.gates.contracts.permitted import Broken, judge_breaking
from damascus.gates.contracts.touched import Touched
from damascus.gates.runs import evidence, job
from damascus.system.plain_file import read_plain

SCRIPT = Path(__file__).with_name("zod.mjs")
ANSWER_LIMIT = 5_000_000
MOST = 500
LARGEST = 1_000_000
TOLD = 5
WORDS = 300
NO_ANSWER = "it gave no answer"
Samples = dict[str, dict[str, str]]
"""Texts, by the schema's name and the sample's path."""


@dataclass
class ZodAnswers:
    """ports.Probe: lays script and questions beside the checkout, reads the answers."""

    asked: dict[str, Any]
    told: dict[str, Any] = field(default_factory=dict)

    def begin(self, folder: Path, root: str, env: Mapping[str, str]) -> Mapping[str, str]:
        folder.mkdir(parents=True)
        shutil.copyfile(SCRIPT, folder / SCRIPT.name)
        (folder / "ask.json").write_text(json.dumps(self.asked))
        return {"DAMASCUS_ZOD": str(folder)}

    def end(self, folder: Path) -> None:
        try:
            found = json.loads(read_plain(folder / "answers.json", ANSWER_LIMIT) or b"{}")
            self.told = found if isinstance(found, dict) else {}
        except (OSError, ValueError, RecursionError):
            self.told = {}


def look_at_zod(runner: EvidenceRunner, candidate: Candidate, touched: Touched, look: LookAtContracts) -> None:
    there = [path for path in touched.zod if path in candidate.files(candidate.commit)]
    for path in (path for path in touched.zod if path not in there):
        look.saw.append(f"{path}: deleted")
        judge_breaking(candidate, path, [Broken("it was deleted")], look)
    if not there:
        return
    config = candidate.config.contracts
    good, bad = (samples_by_name(candidate, candidate.commit, each) for each in (config.samples, config.bad_samples))
    old = samples_by_name(candidate, candidate.base, config.samples)
    asking = Asking(runner, candidate, there)
    now, run = asking.told(candidate.tree, good, bad, _marked(old))
    look.runs.append(evidence("contracts", run))
    before, _ = asking.told(candidate.base, _marked(old))
    for path in there:
        exported = _exported(now, path)
        if exported is None:
            told = now.get(path)
            why = str(told.get("unread", NO_ANSWER)) if isinstance(told, dict) else NO_ANSWER
            look.refuse(f"{path} can't be read, so nothing of it was checked: {why[:WORDS]}.", path)
        else:
            _judge(path, exported, bad, look)
            judge_breaking(candidate, path, _lost(exported, _exported(before, path) or {}), look)


def _exported(told: dict[str, Any], path: str) -> dict[str, dict[str, str]] | None:
    """By schema and sample why it is refused; the code under test could write the answers too."""
    found = told.get(path)
    exported = found.get("exported") if isinstance(found, dict) else None
    if not isinstance(exported, dict) or not all(isinstance(each, dict) for each in exported.values()):
        return None
    return {
        str(name): {str(sample): str(why)[:WORDS] for sample, why in each.items()} for name, each in exported.items()
    }


def samples_by_name(candidate: Candidate, commit: Sha, patterns: list[str]) -> Samples:
    found: Samples = {}
    shapes = [_shape(pattern) for pattern in patterns if "{name}" in pattern]
    for path in sorted(candidate.files(commit)):
        for name in {match["name"] for shape in shapes if (match := shape.fullmatch(path))}:
            data = candidate.read(commit, path) or b""
            if sum(map(len, found.values())) < MOST and len(data) <= LARGEST:
                found.setdefault(name, {})[path] = data.decode(errors="replace")
    return found


def _shape(pattern: str) -> re.Pattern[str]:
    first, *rest = (glob_regex(part).pattern for part in pattern.split("{name}"))
    return re.compile(first + r"(?P<name>[^/]+)" + r"(?P=name)".join(rest))


def _marked(samples: Samples) -> Samples:
    return {name: {f"main:{path}": value for path, value in each.items()} for name, each in samples.items()}


@dataclass(frozen=True)
class Asking:
    runner: EvidenceRunner
    candidate: Candidate
    files: list[str]

    def told(self, tree: Sha, *given: Samples) -> tuple[dict[str, Any], TestRun]:
        """By file what its schemas say of the samples."""
        samples: Samples = {}
        for each in given:
            for name, values in each.items():
                samples.setdefault(name, {}).update(values)
        answers = ZodAnswers({"files": self.files, "samples": samples})
        wanted = job(self.candidate, tree, 'exec node "$DAMASCUS_ZOD/zod.mjs"', "contracts-zod")
        run = self.runner.run(replace(wanted, fresh=True, probe=answers))
        return answers.told, run


def _judge(path: str, exported: dict[str, dict[str, str]], bad: Samples, look: LookAtContracts) -> None:
    sampled = 0
    for name, answers in sorted(exported.items()):
        own = {sample: why for sample, why in answers.items() if not sample.startswith("main:")}
        wrong = [f"{sample}: {why}" for sample, why in own.items() if why and sample not in bad.get(name, {})]
        taken = [sample for sample, why in own.items() if not why and sample in bad.get(name, {})]
        sampled += len(own)
        if wrong:
            look.refuse(f"samples do not conform to {name} of {path}: {'; '.join(wrong[:TOLD])}.", path)
        if taken:
            look.refuse(f"{name} of {path} takes what it must not: {', '.join(taken[:TOLD])}.", path)
        if not own:
            look.not_checked(path, f"no sample of {name!r} ([contracts] samples)")
    if not sampled:
        names = ", ".join(sorted(exported)) or "it exports no Zod schema"
        look.refuse(f"{path}: nothing of it was checked, since there is no sample of its schemas ({names}).", path)
    else:
        look.saw.append(f"{path}: {len(exported)} Zod schemas, {sampled} samples")


def _lost(now: dict[str, dict[str, str]], before: dict[str, dict[str, str]]) -> list[Broken]:
    """What main's schema took of main's samples, and the new one does not."""
    gone = [Broken(f"{name} is no longer exported", (name,)) for name in before if name not in now]
    return gone + [
        Broken(f"main's sample {sample.removeprefix('main:')} no longer conforms to {name} ({why})", (name,))
        for name, answers in now.items()
        for sample, why in answers.items()
        if why and sample.startswith("main:") and before.get(name, {}).get(sample) == ""
    ]
