"""Gate contracts on Zod schemas, with the project's own Zod in the sandbox."""

import json
from pathlib import Path
from typing import Any

import pytest

from damascus.domain.ports import GateResult
from damascus.gates.contracts import Contracts
from tests.gates.shop_api import said
from tests.node_runners import node_project

pytestmark = pytest.mark.req("A5")
CONFIG = """[contracts]
zod = ["src/*.mjs", "src/*.ts"]
samples = ["samples/{name}/*.json"]
bad_samples = ["samples/{name}/bad/*.json"]
"""
SCHEMA = 'import { z } from "zod";\nexport const User = z.object({ name: z.string() });\n'
BASE = {
    "package.json": '{"type": "module"}',
    "src/user.mjs": SCHEMA,
    "samples/User/ann.json": '{"name": "Ann"}',
    "samples/User/bad/none.json": "{}",
}


def look(folder: Path, files: dict[str, Any], **asked: Any) -> GateResult:
    judging = node_project(folder, BASE, needed=("zod",))
    return Contracts(judging.runner).check(judging.candidate(files, config=CONFIG, **asked))


def test_schemas_whose_samples_conform_pass(tmp_path: Path) -> None:
    result = look(tmp_path, {"src/user.mjs": SCHEMA + "export const Other = z.string();\n"})
    assert result.findings == [], result.findings
    assert result.evidence[0].summary == "src/user.mjs: 2 Zod schemas, 2 samples"
    assert result.unverified == ["contracts: src/user.mjs: no sample of 'Other' ([contracts] samples)"]


GROWN = SCHEMA.replace("z.string()", "z.string(), age: z.number()")
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a sample does not conform": ({"samples/User/bob.json": '{"name": 3}'}, "samples/User/bob.json: "),
    "a sample is no JSON": ({"samples/User/bob.json": "{"}, "samples/User/bob.json: it is not valid JSON"),
    "it takes anything": (
        {"src/user.mjs": SCHEMA.replace("z.string()", "z.any().optional()")},
        "takes what it must not",
    ),
    "main's sample is lost": (
        {"src/user.mjs": GROWN, "samples/User/ann.json": '{"name": "Ann", "age": 3}'},
        "main's sample samples/User/ann.json no longer conforms to User",
    ),
    "a schema is gone": ({"src/user.mjs": SCHEMA.replace("User", "Member")}, "nothing of it was checked"),
    "there is no sample": ({"src/more.mjs": SCHEMA.replace("User", "More")}, "nothing of it was checked"),
    "it can't be loaded": ({"src/user.mjs": "export const = 3"}, "can't be read, so nothing of it was checked"),
    "it ends the process": ({"src/user.mjs": SCHEMA + "process.exit(0);\n"}, "it gave no answer"),
    "it is deleted": ({"src/user.mjs": None}, "it was deleted"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_schema_is_refused_where(tmp_path: Path, name: str) -> None:
    files, why = REFUSED[name]
    assert why in said(look(tmp_path, files))


def test_a_spec_may_permit_another_shape(tmp_path: Path) -> None:
    files = {"src/user.mjs": GROWN, "samples/User/ann.json": json.dumps({"name": "Ann", "age": 3})}
    assert look(tmp_path, files, may_break=("User",)).findings == []


def test_typescript_is_read_with_the_projects_own_compiler(tmp_path: Path) -> None:
    result = look(
        tmp_path, {"src/user.mjs": SCHEMA, "src/typed.ts": SCHEMA + "export type User = z.infer<typeof User>;\n"}
    )
    assert result.findings == [], result.findings
