"""A small API for the tests of the contracts gate, and its description in every shape that a test wants."""

import copy
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from damascus.domain.ports import GateResult
from damascus.gates.contracts import Contracts
from tests.gates.judging import Content, Judging

API = "api/openapi.json"
CONFIG = '[contracts]\nopenapi = ["api/*.json", "api/*.yaml"]\n'

SHOP: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Shop", "version": "1"},
    "paths": {
        "/items": {
            "get": {
                "operationId": "listItems",
                "parameters": [
                    {"name": "limit", "in": "query", "schema": {"type": "integer", "maximum": 100}},
                    {"name": "sort", "in": "query", "schema": {"type": "string", "enum": ["name", "price"]}},
                ],
                "responses": {
                    "200": {
                        "description": "all of them",
                        "content": {
                            "application/json": {
                                "schema": {"type": "array", "items": {"$ref": "#/components/schemas/Item"}}
                            }
                        },
                    },
                    "400": {"description": "a bad question"},
                },
            },
            "post": {
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/NewItem"}}},
                },
                "responses": {"201": {"description": "made"}},
            },
        },
        "/items/{id}": {
            "get": {
                "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}],
                "responses": {
                    "200": {
                        "description": "one",
                        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Item"}}},
                    }
                },
            }
        },
    },
    "components": {
        "schemas": {
            "Item": {
                "type": "object",
                "required": ["id", "name"],
                "properties": {
                    "id": {"type": "integer", "readOnly": True},
                    "name": {"type": "string"},
                    "parts": {"type": "array", "items": {"$ref": "#/components/schemas/Item"}},
                },
            },
            "NewItem": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "note": {"type": ["string", "null"]}},
            },
        }
    },
}

Edit = Callable[[dict[str, Any]], object]


def shop(edit: Edit = lambda api: None) -> dict[str, Any]:
    api = copy.deepcopy(SHOP)
    edit(api)
    return api


def written(edit: Edit = lambda api: None) -> str:
    return json.dumps(shop(edit))


def judged(folder: Path, base: Mapping[str, str], files: Mapping[str, Content], **asked: Any) -> GateResult:
    """What the gate says of a candidate that lays `files` over `base`."""
    judging = Judging.of(folder, {"README.md": "x\n", **base})
    return Contracts(judging.runner).check(judging.candidate(files, **{"config": CONFIG, **asked}))


def said(result: GateResult) -> str:
    return " | ".join(finding.message for finding in result.findings)
