"""Is an OpenAPI description (2.0, 3.0, 3.1, 3.2) valid? By openapi-spec-validator, of the extra `contracts`."""

from collections.abc import Callable
from itertools import islice
from typing import Any, NoReturn

from jsonschema_path import SchemaPath
from openapi_spec_validator.shortcuts import get_validator_cls
from openapi_spec_validator.validation.exceptions import ValidatorDetectError

TOLD = 10
SENTENCE = 300


class _NoWay(dict[str, Callable[[str], Any]]):
    """Has a handler for every address, and each refuses: what nobody handles the library would ask the network for."""

    def __contains__(self, scheme: object) -> bool:
        return True

    def __getitem__(self, scheme: str) -> Callable[[str], Any]:
        return _refuse


def _refuse(address: str) -> NoReturn:
    raise ValueError(f"{address} is never asked")


def problems(document: Any) -> list[str]:
    """What is wrong with a description that is one document, at most TOLD sentences."""
    if not isinstance(document, dict):
        return ["is no OpenAPI description: it holds no keys"]
    try:
        kind = get_validator_cls(document)
    except (ValidatorDetectError, KeyError, TypeError):
        return ["names no version of OpenAPI that is known (`openapi: 3.1.0` or the like)"]
    try:
        validator = kind(SchemaPath.from_dict(document, base_uri="", handlers=_NoWay()))
        return [_where_and_why(error) for error in islice(validator.iter_errors(), TOLD)]
    except RecursionError:
        return ["refers to itself without an end"]
    except MemoryError:
        raise
    except Exception as err:
        # The library raises many kinds on a description that is odd enough: it is not valid then, whatever it is.
        return [f"can't be validated: {type(err).__name__}: {str(err)[:SENTENCE]}"]


def _where_and_why(error: Any) -> str:
    parts = [str(part) for part in getattr(error, "absolute_path", ())]
    where = " → ".join(parts)
    said = " ".join(str(getattr(error, "message", "") or error).split())[:SENTENCE]
    return f"{where}: {said}" if where else said
