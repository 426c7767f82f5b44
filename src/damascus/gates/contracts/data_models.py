"""JSON Schemas: valid, their samples conform, and what main's samples and main's schema promised still holds."""

import base64
from collections.abc import Mapping
from typing import Any

from damascus.domain.ids import Sha
from damascus.domain.ports import Candidate
from damascus.domain.scope import Scope
from damascus.gates.contracts.look import LookAtContracts
from damascus.gates.contracts.permitted import Broken, judge_breaking
from damascus.gates.contracts.reading import TOO_MUCH, ContractFiles, ask, contract_files
from damascus.gates.contracts.samples import samples_of, schema_name
from damascus.gates.contracts.touched import Touched
from damascus.scanning.scanner import TooMuchToRead

TOLD = 5


def look_at_schemas(candidate: Candidate, touched: Touched, look: LookAtContracts) -> None:
    for path in touched.schemas:
        new = contract_files(candidate, candidate.commit, path, "schema_files")
        try:
            if new is None:
                look.saw.append(f"{path}: deleted")
                judge_breaking(candidate, path, [Broken("it was deleted", (schema_name(path),))], look)
            elif new.problem:
                look.refuse(f"{path} {new.problem}.", path)
            else:
                _changed(candidate, new, look)
        except TooMuchToRead:
            look.refuse(f"{path} {TOO_MUCH}. Make it smaller or plainer.", path)


def _changed(candidate: Candidate, new: ContractFiles, look: LookAtContracts) -> None:
    path, old = new.path, contract_files(candidate, candidate.base, new.path, "schema_files")
    now = _side(candidate, candidate.commit, new)
    before = _side(candidate, candidate.base, old) if old is not None and not old.problem else None
    told = ask("look_at_schema", path=path, now=now, before=before)
    if told["problems"]:
        look.refuse(f"{path} is no valid JSON Schema: {'; '.join(told['problems'])}.", path)
        return
    samples, bad = len(now["samples"]), len(now["bad"])
    look.saw.append(f"{path}: a valid JSON Schema; {samples} samples, {bad} that must not conform")
    _judge_samples(path, told, look)
    if not samples:
        look.not_checked(path, f"no sample of {schema_name(path)!r} ([contracts] samples)")
    if old is not None:
        _judge_against(candidate, path, old, told, look)


def _judge_samples(path: str, told: dict[str, Any], look: LookAtContracts) -> None:
    wrong, taken = told["wrong"], told["taken"]
    if wrong:
        said = "; ".join(f"{sample}: {why}" for sample, why in list(wrong.items())[:TOLD])
        look.refuse(f"{len(wrong)} samples do not conform to {path}: {said}.", path)
    if taken:
        look.refuse(f"{path} takes what it must not: {', '.join(taken[:TOLD])}.", path)


def _judge_against(
    candidate: Candidate, path: str, old: ContractFiles, told: dict[str, Any], look: LookAtContracts
) -> None:
    if "changes" not in told:
        look.not_checked(path, f"not compared with main's, which {old.problem or told['old_problem']}")
        return
    names = (schema_name(path),)
    lost = [Broken(f"main's sample {name} no longer conforms ({why})", names) for name, why in told["lost"].items()]
    judge_breaking(candidate, path, [*lost, *(Broken(text, names) for text in told["changes"])], look)
    for text in told["unjudged"]:
        look.not_checked(path, f"{text}, whether that breaks what others hold is not judged")


def _side(candidate: Candidate, commit: Sha, root: ContractFiles) -> dict[str, dict[str, str]]:
    """A schema of one commit with all that it is judged by: the other schemas may be known by their `$id`."""
    config, name = candidate.config.contracts, schema_name(root.path)
    named = Scope(tuple(config.schemas))
    others = [path for path in candidate.files(commit) if named.allows(path) and path not in root.files]
    files = {**root.files, **{path: candidate.read(commit, path) or b"" for path in others}} if others else root.files
    bad = samples_of(candidate, commit, config.bad_samples, name)
    samples = samples_of(candidate, commit, config.samples, name)
    good = {path: data for path, data in samples.items() if path not in bad}
    return {"files": _packed(files), "samples": _packed(good), "bad": _packed(bad)}


def _packed(files: Mapping[str, bytes]) -> dict[str, str]:
    return {path: base64.b64encode(data).decode() for path, data in files.items()}
