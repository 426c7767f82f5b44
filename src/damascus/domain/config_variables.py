"""DAMASCUS_… variables over damascus.toml, read by pydantic-settings from the mapping that it is given.

Loaded only where such a variable is set: pydantic-settings takes as long to load as pydantic itself.
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource

from damascus.domain.errors import UsageError

TYPES = ("bool", "int", "float")


class GivenVariables(EnvSettingsSource):
    """One table's keys from a mapping, never from the process: what a key is called here, without prefix and table."""

    def __init__(self, table: type[BaseModel], given: Mapping[str, str]) -> None:
        self._given = dict(given)
        super().__init__(cast("type[BaseSettings]", table), case_sensitive=False, env_prefix="")

    def _load_env_vars(self) -> Mapping[str, str | None]:
        return self._given

    def decode_complex_value(self, field_name: str, field: FieldInfo, value: Any) -> Any:
        """A list is what stands between commas."""
        return value.split(",")


def typed(table: type[BaseModel], given: Mapping[str, str], variables: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Each key with its value of the right type; `variables` names them for people."""
    values = GivenVariables(table, given)()
    try:
        made = table.model_validate(values, strict=False)
    except ValidationError as err:
        raise _refusal(err, given, variables) from None
    names = {info.alias or name: name for name, info in table.model_fields.items()}
    return ((key, getattr(made, names[key])) for key in values)


def _refusal(err: ValidationError, given: Mapping[str, str], variables: Mapping[str, str]) -> UsageError:
    first = err.errors()[0]
    key = str(first["loc"][0])
    told = f"{variables[key]}={given[key]!r}"
    kind, _, what = str(first["type"]).partition("_")
    if what.startswith(("parsing", "from", "type")) and kind in TYPES:
        return UsageError(f"{told} is not a {kind}. Correct or unset it.")
    return UsageError(f"{told}: {first['msg'].lower()}. Correct or unset it (docs/config.md).")
